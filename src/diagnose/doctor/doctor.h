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
enum class HostPart : unsigned {
  nothing = 0,
  driver = 1 << 0,  // NVIDIA's library answers for a card
  kernel = 1 << 1,
  cuda = 1 << 2,
  python = 1 << 3,
  libraries = 1 << 4,
  limits = 1 << 5,
  directory = 1 << 6,
};
[[nodiscard]] constexpr HostPart operator|(HostPart one, HostPart other) {
  return static_cast<HostPart>(static_cast<unsigned>(one) | static_cast<unsigned>(other));
}

struct DoctorRule {
  Findings (*find)(const Examined& host);
  /// Without one of these it cannot judge: it is not asked, and nothing is said of its subject.
  HostPart needs = HostPart::nothing;
  Reported reports[most_reported];
};

// rules/SUBJECT.cc
[[nodiscard]] std::span<const DoctorRule> driver_rules();
[[nodiscard]] std::span<const DoctorRule> containers_rules();
[[nodiscard]] std::span<const DoctorRule> cuda_rules();
[[nodiscard]] std::span<const DoctorRule> gpu_proof_rules();
[[nodiscard]] std::span<const DoctorRule> health_rules();
[[nodiscard]] std::span<const DoctorRule> frameworks_rules();
[[nodiscard]] std::span<const DoctorRule> visible_devices_rules();
[[nodiscard]] std::span<const DoctorRule> visible_others_rules();
[[nodiscard]] std::span<const DoctorRule> accelerators_rules();
[[nodiscard]] std::span<const DoctorRule> devices_rules();
[[nodiscard]] std::span<const DoctorRule> libraries_rules();
[[nodiscard]] std::span<const DoctorRule> toolkits_rules();
[[nodiscard]] std::span<const DoctorRule> variables_rules();
[[nodiscard]] std::span<const DoctorRule> folders_rules();
[[nodiscard]] std::span<const DoctorRule> machine_rules();

/// All of them, in the order in which they are asked.
[[nodiscard]] const std::vector<DoctorRule>& all_rules();
/// What this rule finds; nothing where it cannot judge.
[[nodiscard]] Findings ask(const DoctorRule& rule, const Examined& host);

}  // namespace berth::doctor
