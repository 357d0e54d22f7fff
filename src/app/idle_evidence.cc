#include "app/idle_evidence.h"

#include "app/history_options.h"
#include "snapshot/questions.h"

namespace berth {

IdleEvidence idle_evidence(const Context& context, const Snapshot& snapshot) {
  IdleEvidence evidence;
  if (context.replay()) {
    evidence.why_none = sentence("a recording has none");
    return evidence;
  }
  auto reader = HistoryOptionWords().open(context);
  if (!reader) {
    evidence.why_none = reader.error().said();
    return evidence;
  }
  std::vector<DeviceId> held;
  for (const Device& device : snapshot.devices) {
    const bool is_held =
        !claims_on(device.id, snapshot).empty() || !processes_on(device.id, snapshot).empty();
    if (is_held) held.push_back(device.id);
  }
  auto loads = reader->series({.devices = std::move(held),
                               .metric = "utilization_gpu_percent",
                               .since = WallTime{snapshot.taken.unix_ms - day_ms},
                               .until = snapshot.taken,
                               .points = 24 * 60});
  if (!loads) return evidence;
  std::erase_if(*loads, [](const HistorySeries& load) { return load.points.empty(); });
  evidence.loads = *std::move(loads);
  return evidence;
}

}  // namespace berth
