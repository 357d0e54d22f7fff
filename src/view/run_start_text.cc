#include "view/run_start_text.h"

#include "base/text.h"
#include "base/tr.h"

namespace berth {

std::string render_started(const StartedText& started, const Style&) {
  std::string where;
  if (started.cpu_only) where = tr("on the CPU, without a device");
  for (const Choice& choice : started.devices) {
    where += where.empty() ? std::string(tr("on GPU ")) : ", ";
    where += choice.index && !choice.device.text().starts_with("MIG-")
                 ? std::to_string(*choice.index)
                 : printable(choice.device.text());
  }
  if (started.devices.size() == 1 && !started.devices.front().reason.empty()) {
    where += " (" + started.devices.front().reason + ")";
  }
  std::string line = trf("berth: run {} {}", started.id, where);
  if (started.waited >= std::chrono::seconds(1)) {
    line += trf(", after waiting {}", short_duration(started.waited));
  }
  if (started.simulated) line += trf("  SIMULATED: {}", printable(*started.simulated));
  return line + "\n";
}

}  // namespace berth
