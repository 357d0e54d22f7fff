// Whether a device is there and what its driver reports about it.

#include <fmt/format.h>

#include <map>

#include "health/rules.h"
#include "snapshot/silence.h"

namespace berth::health {

Findings lost(const Device& device, const Snapshot&) {
  if (!device.lost) return {};
  const bool unlisted = device.unusable_because == not_listed_any_more;
  return {{HealthState::failed, "lost",
           unlisted ? std::string(not_listed_any_more) : "it fell off the bus and answers nobody",
           "reboot; if it comes back, look at seating, power and cooling"}};
}

Findings unusable(const Device& device, const Snapshot&) {
  const std::string& why = device.unusable_because;
  if (device.lost || why.empty()) return {};
  const bool on_purpose =
      why == left_out_on_purpose || why == not_shown_here || why == given_to_a_machine;
  constexpr std::string_view silent = as_key(
      "see the kernel log (sudo dmesg); if it stays silent: once nobody uses it, reset it "
      "(sudo nvidia-smi -r) or reboot");
  return {{on_purpose ? HealthState::notice : HealthState::failed, "unusable", why,
           std::string(why == does_not_answer ? silent : "")}};
}

Findings recovery_action(const Device& device, const Snapshot&) {
  const auto action = device.details.get<std::string>(Detail::recovery_action);
  if (!action.has_value() || *action.get() == "None") return {};
  return {{HealthState::failed, "recovery_action", "the driver asks for: " + *action.get(),
           "no new jobs on it until that is done"}};
}

HealthState state_of(XidAction action) {
  switch (action) {
    case XidAction::none:
    case XidAction::restart_app:
      return HealthState::notice;
    case XidAction::check_link:
    case XidAction::reset:
    case XidAction::restart_machine:
    case XidAction::check_power:
    case XidAction::update:
    case XidAction::support:
      return HealthState::degraded;
  }
  return HealthState::degraded;
}

Findings xids(const Device& device, const Snapshot& snapshot) {
  if (!snapshot.xids.has_value() || !device.pci_address.has_value()) return {};
  struct Seen {
    std::uint64_t times = 0;
    const XidEvent* last = nullptr;
  };
  std::map<std::uint64_t, Seen> by_code;
  for (const XidEvent& event : *snapshot.xids.get()) {
    if (event.pci_address != *device.pci_address.get()) continue;
    Seen& seen = by_code[event.code];
    ++seen.times;
    if (seen.last == nullptr || event.at.unix_ms >= seen.last->at.unix_ms) seen.last = &event;
  }
  Findings findings;
  for (const auto& [code, seen] : by_code) {
    const XidFacts facts = xid_facts(code);
    std::string who;
    if (seen.last->process.has_value() || seen.last->pid.has_value()) {
      who = fmt::format(
          ", last by {} (pid {})",
          seen.last->process.has_value() ? *seen.last->process.get() : std::string("?"),
          seen.last->pid.has_value() ? std::to_string(*seen.last->pid.get()) : std::string("?"));
    }
    findings.push_back({state_of(facts.action), fmt::format("xid_{}", code),
                        fmt::format("XID {}, {} times: {}{}", code, seen.times, facts.meaning, who),
                        std::string(advice_for(facts.action)),
                        Occurrences{.times = seen.times,
                                    .last = seen.last->at,
                                    .process = seen.last->process,
                                    .pid = seen.last->pid}});
  }
  return findings;
}

}  // namespace berth::health
