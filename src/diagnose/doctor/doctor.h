#pragma once
// What is wrong between a user's programs and this machine's GPUs: every rule asked, worst first.
// Pure: what was read is in Examined. The rules' names stand in doc/EXPLAIN.md.

#include <span>
#include <vector>

#include "diagnose/doctor/examined.h"

namespace berth {

[[nodiscard]] Findings examine(const Examined& host);

}  // namespace berth

namespace berth::doctor {

// Doctor's rules. A rule is a function and its row, in the table that ends rules/SUBJECT.cc; its
// test stands beside that file. Each finds something, or nothing.

/// What a rule looks at beside devices and variables. Any of it may not have been looked at, or may
/// not answer.
enum class Part : unsigned {
  nothing = 0,
  driver = 1 << 0,  // NVIDIA's library answers for a card
  kernel = 1 << 1,
  cuda = 1 << 2,
  python = 1 << 3,
  libraries = 1 << 4,
  limits = 1 << 5,
  directory = 1 << 6,
};
[[nodiscard]] constexpr Part operator|(Part one, Part other) {
  return static_cast<Part>(static_cast<unsigned>(one) | static_cast<unsigned>(other));
}

struct Rule {
  Findings (*find)(const Examined& host);
  /// Without one of these it cannot judge: it is not asked, and nothing is said of its subject.
  Part needs = Part::nothing;
  Reported reports[most_reported];
};

// rules/SUBJECT.cc
[[nodiscard]] std::span<const Rule> driver_rules();
[[nodiscard]] std::span<const Rule> containers_rules();
[[nodiscard]] std::span<const Rule> cuda_rules();
[[nodiscard]] std::span<const Rule> gpu_proof_rules();
[[nodiscard]] std::span<const Rule> health_rules();
[[nodiscard]] std::span<const Rule> frameworks_rules();
[[nodiscard]] std::span<const Rule> visible_devices_rules();
[[nodiscard]] std::span<const Rule> visible_others_rules();
[[nodiscard]] std::span<const Rule> accelerators_rules();
[[nodiscard]] std::span<const Rule> devices_rules();
[[nodiscard]] std::span<const Rule> libraries_rules();
[[nodiscard]] std::span<const Rule> toolkits_rules();
[[nodiscard]] std::span<const Rule> variables_rules();
[[nodiscard]] std::span<const Rule> folders_rules();
[[nodiscard]] std::span<const Rule> machine_rules();

/// All of them, in the order in which they are asked.
[[nodiscard]] const std::vector<Rule>& all_rules();
/// What this rule finds; nothing where it cannot judge.
[[nodiscard]] Findings ask(const Rule& rule, const Examined& host);

}  // namespace berth::doctor
