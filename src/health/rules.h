#pragma once
// The rules of berth health. A rule is a function and its row, in the table that ends
// rules_SUBJECT.cc.

#include <span>
#include <vector>

#include "health/health.h"
#include "snapshot/finding.h"

namespace berth::health {

/// What a rule reads of a device that is there to be asked: where it cannot, its silence says
/// nothing.
struct Reads {
  std::string_view what;  // a key of the catalogue of words; empty: nothing
  /// Nothing: it could be read, or the device has no such thing.
  std::optional<Absent> (*why_not)(const Device& device, const Snapshot& snapshot);
  bool is_of_machine = false;  // named behind all that is of the device
};
template <class R>
[[nodiscard]] std::optional<Absent> why_unread(const R& reading) {
  if (reading.has_value()) return std::nullopt;
  const Absent why = reading.why();
  const bool is_told = why == Absent::failed || why == Absent::no_permission;
  return is_told ? std::optional(why) : std::nullopt;
}

struct HealthRule {
  /// Empty: all is well, or it could not be read.
  Findings (*find)(const Device& device, const Snapshot& snapshot);
  Reads reads[2];
  Reported reports[most_reported];
};

// rules_SUBJECT.cc
[[nodiscard]] std::span<const HealthRule> state_rules();
[[nodiscard]] std::span<const HealthRule> memory_rules();
[[nodiscard]] std::span<const HealthRule> speed_rules();
[[nodiscard]] std::span<const HealthRule> nvlink_rules();

/// All of them, in the order in which they are asked.
[[nodiscard]] const std::vector<HealthRule>& all_rules();

/// With all that health says of a device: what was read, and what to do next, if anything.
[[nodiscard]] Finding found(Severity severity, std::string_view code, Sentence evidence,
                            Sentence advice = {});

}  // namespace berth::health
