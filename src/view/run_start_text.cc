#include "view/run_start_text.h"

#include "base/text.h"
#include "base/tr.h"
#include "view/values.h"

namespace berth {

namespace {

/// What the job was promised of its devices, where they are shared.
std::string promise_text(const std::vector<Choice>& devices) {
  if (devices.empty() || !devices.front().promised) return "";
  std::string sizes;
  for (const Choice& choice : devices) {
    const std::string size = choice.promised ? bytes_text(*choice.promised) : std::string();
    // One size for all of them is said once.
    if (size != sizes) sizes += (sizes.empty() ? "" : ", ") + size;
  }
  return std::string(tr("; ")) + trf("{} promised, a promise, not enforced", sizes);
}

}  // namespace

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
  where += promise_text(started.devices);
  std::string line = trf("berth: run {} {}", started.id, where);
  if (started.waited >= std::chrono::seconds(1)) {
    line += trf(", after waiting {}", short_duration(started.waited));
  }
  if (started.simulated) line += trf("  SIMULATED: {}", printable(*started.simulated));
  return line + "\n";
}

}  // namespace berth
