// Whether a device is there and what its driver reports about it.

#include <fmt/format.h>

#include <map>

#include "base/sentence.h"
#include "base/tr.h"
#include "health/rules.h"
#include "health/xid.h"
#include "snapshot/device_kind.h"

namespace berth::health {

namespace {

Findings lost(const Device& device, const Snapshot&) {
  if (!device.lost) return {};
  const bool unlisted = device.unusable_because == Unusable::unlisted;
  return {found(Severity::error, "lost",
                unlisted ? device.unusable_because.said()
                         : sentence("it fell off the bus and answers nobody"),
                Sentence(advice_for(XidAction::restart_machine)))};
}

Findings unusable(const Device& device, const Snapshot&) {
  const WhyUnusable& why = device.unusable_because;
  if (device.lost || why.empty()) return {};
  const bool on_purpose = why == Unusable::left_out || why == Unusable::kept_from_us ||
                          why == Unusable::given_to_machine || why == Unusable::asleep;
  const DeviceKindFacts& facts = facts_of(device.kind);
  const Sentence silent =
      facts.reset_command.empty()
          ? Sentence(facts.log_advice)
          : sentence(
                "see the kernel log (sudo dmesg). If it stays silent: once nobody uses it, "
                "reset it ({}) or reboot",
                facts.reset_command);
  return {found(on_purpose ? Severity::hint : Severity::error, "unusable", why.said(),
                why == Unusable::silent ? silent : Sentence())};
}

Findings recovery_action(const Device& device, const Snapshot&) {
  const auto action = device.details.get<std::string>(Detail::recovery_action);
  if (!action.has_value() || *action.get() == "None") return {};
  return {found(Severity::error, "recovery_action",
                sentence("the driver asks for: {}", Sentence(*action.get())),
                sentence("no new jobs on it until that is done"))};
}

/// Errors of one code on one device.
struct CodeCount {
  std::uint64_t times = 0;
  std::uint64_t times_before = 0;  // before the driver was loaded the last time
  const XidEvent* last = nullptr;  // of those since then; where there is none, of those before
};

std::map<std::uint64_t, CodeCount> xids_by_code(const Device& device, const Snapshot& snapshot) {
  std::map<std::uint64_t, CodeCount> by_code;
  for (const XidEvent& event : *snapshot.xids.get()) {
    if (event.pci_address != *device.pci_address.get()) continue;
    CodeCount& seen = by_code[event.code];
    const bool over = is_before_driver_load(event, snapshot);
    const bool first_since = !over && seen.times == 0;
    ++(over ? seen.times_before : seen.times);
    if (over && seen.times > 0) continue;
    if (seen.last == nullptr || first_since || event.at.unix_ms >= seen.last->at.unix_ms) {
      seen.last = &event;
    }
  }
  return by_code;
}

Sentence xid_evidence(const XidFacts& facts, const CodeCount& seen) {
  const std::uint64_t before = seen.times_before;
  const Sentence meaning(facts.meaning, {});
  Sentence text =
      seen.times == 1  ? sentence("XID {}, once: {}", facts.code, meaning)
      : seen.times > 1 ? sentence("XID {}, {} times: {}", facts.code, seen.times, meaning)
      : before == 1
          ? sentence("XID {}, once, before the driver was loaded: {}", facts.code, meaning)
          : sentence("XID {}, {} times, before the driver was loaded: {}", facts.code, before,
                     meaning);
  const auto& pid = seen.last->pid.get();
  if (seen.last->process.has_value() || pid) {
    text = sentence("{}; {}", text,
                    sentence("last by {} (pid {})", seen.last->process.get().value_or("?"),
                             pid ? std::to_string(*pid) : std::string("?")));
  }
  if (seen.times > 0 && before > 0) {
    text = sentence("{}; {}", text, sentence("{} more before the driver was loaded", before));
  }
  return text;
}

Findings xids(const Device& device, const Snapshot& snapshot) {
  if (!snapshot.xids.has_value() || !device.pci_address.has_value()) return {};
  Findings findings;
  for (const auto& [code, seen] : xids_by_code(device, snapshot)) {
    const XidFacts facts = xid_facts(code);
    const bool over = seen.times == 0;
    const bool is_of_device = !over && gravity_of(facts.action) != XidGravity::of_job;
    findings.push_back(found(is_of_device ? Severity::warning : Severity::hint,
                             fmt::format("xid_{}", code), xid_evidence(facts, seen),
                             over ? Sentence() : Sentence(advice_for(facts.action))));
    findings.back().occurrences = Occurrences{.times = over ? seen.times_before : seen.times,
                                              .last = seen.last->at,
                                              .process = seen.last->process,
                                              .pid = seen.last->pid,
                                              .before_driver_load = over};
  }
  return findings;
}

}  // namespace

std::span<const HealthRule> state_rules() {
  static constexpr HealthRule rules[] = {
      {.find = lost,
       .reports = {{"lost", "failed",
                    "NVML answers \"GPU is lost\", or the driver's list has it no more",
                    "reboot; seating, power, cooling"}}},
      {.find = unusable,
       .reports = {{"unusable",
                    "failed; notice where it was left out, hidden or given to a virtual machine on "
                    "purpose",
                    "what the driver or the kernel says of it", "–"}}},
      {.find = recovery_action,
       .reads = {{as_key("recovery action"),
                  [](const Device& device, const Snapshot&) {
                    return why_unread(device.details.cell(Detail::recovery_action));
                  }}},
       .reports = {{"recovery_action", "failed", "the driver's own recovery action is not \"None\"",
                    "that action before the next job"}}},
      {.find = xids,
       .reads = {{.what = as_key("kernel log"),
                  .why_not = [](const Device&,
                                const Snapshot& snapshot) { return why_unread(snapshot.xids); },
                  .is_of_machine = true}},
       .reports = {{"xid_…",
                    "by the error: notice where the program alone is concerned or the driver was "
                    "loaded anew since, else degraded",
                    "the kernel log, or NVML's events: how often, whose process",
                    "by the error: restart the program, reset, look at the link or the power, …"}}},
  };
  return rules;
}

}  // namespace berth::health
