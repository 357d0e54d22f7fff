#include "run/gpus_to_prove.h"

#include "base/text.h"
#include "place/request.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

bool can_be_proved(const Device& device, const Snapshot& snapshot) {
  return is_of(Runtime::cuda, device) && device.index && device.uuid.get() &&
         state_of(device, snapshot) != DeviceState::divided;
}

}  // namespace

Result<std::vector<GpuToProve>> gpus_to_prove(const Snapshot& snapshot, const std::string& list) {
  std::vector<DevicePattern> patterns;
  if (!list.empty()) {
    auto parsed = parse_patterns(list);
    if (!parsed) return std::unexpected(std::move(parsed).error().at("-i"));
    patterns = std::move(*parsed);
  }
  std::vector<GpuToProve> wanted;
  std::vector<bool> found(patterns.size(), false);
  for (const Device& device : snapshot.devices) {
    if (!can_be_proved(device, snapshot)) continue;
    bool is_named = patterns.empty();
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if (!matches(patterns[i], device)) continue;
      found[i] = is_named = true;
    }
    if (is_named) wanted.push_back({.device = &device});
  }
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (found[i]) continue;
    return fail(ErrorCode::invalid, "-i {}: there is no such device that CUDA could compute on",
                printable(patterns[i].text));
  }
  for (std::size_t i = 0; i < wanted.size() && wanted.size() > 1; ++i) {
    const Device* next = wanted[(i + 1) % wanted.size()].device;
    if (!wanted[i].device->parent && !next->parent) wanted[i].peer = next;
  }
  return wanted;
}

bool is_somebody(Rule rule) {
  return rule == Rule::leased || rule == Rule::in_use || rule == Rule::reserved ||
         rule == Rule::utilization || rule == Rule::not_idle;
}

}  // namespace berth
