#pragma once
// The rules that refuse a device, asked in the order in which a person would want to hear of them.
// Internal to src/place.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "place/occupancy.h"
#include "place/placement.h"
#include "snapshot/device_kind.h"

namespace berth {

/// One device before the rules.
struct Case {
  const Snapshot& snapshot;
  const Device& device;
  const DeviceOccupancy& occupancy;
  const Request& request;
  const PlaceLimits& limits;
  const std::vector<std::string_view>& kinds_to_choose;  // Placement's
  int held = 0;                                          // held_under_limit()
};

/// The makers whose devices could be given, where a request says of none of several.
[[nodiscard]] std::vector<std::string_view> kinds_to_choose(const Snapshot& snapshot,
                                                            const Request& request,
                                                            const PlaceLimits& limits);

/// Devices that the user holds, where the policy limits their number; else 0.
[[nodiscard]] int held_under_limit(const Snapshot& snapshot, const PlaceLimits& limits);

/// The first rule that refuses the device; nothing where it may be given.
[[nodiscard]] std::optional<Refusal> refusal_of(const Case& asked);

/// What --min-compute and --need ask of its chip.
[[nodiscard]] std::optional<Refusal> lacking(const Case& asked);

/// What --idle-for asks; also says by which evidence a device was found idle.
struct Idleness {
  std::optional<Refusal> refusal;
  Sentence evidence;  // "idle by the driver's samples"
};
[[nodiscard]] Idleness idleness_of(const Case& asked);

/// The share of the device that the request wants; nothing where the size of its memory is needed
/// and unknown. Of a percentage, "all" is what the driver does not keep for itself: two times 50 %
/// fit on a card.
[[nodiscard]] std::optional<Bytes> wanted_bytes(const MemoryShare& share, const Device& device);

/// "85" of 85.4 %.
[[nodiscard]] inline std::string whole_number(Percent share) {
  return fmt::format("{:.0f}", share.count());
}

/// The variable that keeps the device out, where one does (VisibleBy::variable).
[[nodiscard]] inline std::string_view hiding_variable(const PlaceLimits& limits,
                                                      const Device& device) {
  const auto found = limits.hidden_by.find(device.id);
  return found != limits.hidden_by.end() ? found->second : facts_of(device.kind).visible_variable;
}

[[nodiscard]] Refusal refuse(const Device& device, Rule rule, Sentence text,
                             bool may_change = true);

}  // namespace berth
