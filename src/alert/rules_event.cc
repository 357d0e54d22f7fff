// What happened at a time: errors that the driver reported, and what is not as it was.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "alert/rules_parts.h"
#include "base/sentence.h"
#include "base/tr.h"
#include "health/xid.h"
#include "snapshot/questions.h"

namespace berth::alert {

namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr AlertSeverity severities[] = {AlertSeverity::notice, AlertSeverity::warning,
                                        AlertSeverity::critical};  // by XidGravity
static_assert(std::size(severities) == static_cast<std::size_t>(XidGravity::needs_reset) + 1);

/// Not later than now: somebody may have set the date back.
WallTime not_after(WallTime at, WallTime now) { return at < now ? at : now; }

Sentence change_in_words(const EnvironmentChange& change) {
  if (!change.from) return sentence("a device is new: {}", change.to.value_or("?"));
  if (!change.to) return sentence("a device is gone: {}", *change.from);
  if (change.what == "driver") {
    return sentence("the driver changed from {} to {}", *change.from, *change.to);
  }
  if (change.what.starts_with(driver_key)) {
    return sentence("the {} driver changed from {} to {}", change.what.substr(driver_key.size()),
                    *change.from, *change.to);
  }
  if (change.what.starts_with(runtime_key)) {
    return sentence("the version of {} changed from {} to {}",
                    change.what.substr(runtime_key.size()), *change.from, *change.to);
  }
  if (change.what == "kernel") {
    return sentence("the kernel changed from {} to {}", *change.from, *change.to);
  }
  if (change.what == "CUDA toolkit") {
    return sentence("the CUDA toolkit changed from {} to {}", *change.from, *change.to);
  }
  if (change.what.starts_with("device ")) {
    return sentence("a device changed from {} to {}", *change.from, *change.to);
  }
  return sentence("the CUDA version of the driver changed from {} to {}", *change.from, *change.to);
}

/// What was over before anybody listened, or has been told of for as long as was wanted.
bool is_no_news(const Round& round, AlertRule rule, WallTime at) {
  return round.look.now.unix_ms - at.unix_ms >= round.settings.of(rule).hold.count();
}

void see_xids(const Round& round) {
  constexpr AlertRule rule = AlertRule::xid;
  const auto& xids = round.look.snapshot.xids.get();
  if (!xids) return;
  struct ErrorCount {
    int times = 0;
    WallTime last;
  };
  std::map<std::pair<std::string, std::uint64_t>, ErrorCount> errors;
  for (const XidEvent& event : *xids) {
    if (is_before_driver_load(event, round.look.snapshot)) continue;
    ErrorCount& seen = errors[{event.pci_address, event.code}];
    ++seen.times;
    seen.last = std::max(seen.last, not_after(event.at, round.look.now));
  }
  for (const auto& [key, seen] : errors) {
    const auto& [address, code] = key;
    if (is_no_news(round, rule, seen.last)) continue;
    const Device* device = card_at(address, round.look.snapshot);
    const XidFacts facts = xid_facts(code);
    const std::string where = device != nullptr ? device->id.text() : address;
    round.found.seen.push_back(
        {.rule = rule,
         .subject = fmt::format("{} {}", where, code),
         .severity = severities[static_cast<int>(gravity_of(facts.action))],
         .device = DeviceId(where),
         .index = device != nullptr ? device->index : std::nullopt,
         .since = seen.last,
         .last_seen = seen.last,
         .summary = seen.times == 1 ? sentence("XID {}, once: {}", code, Sentence(facts.meaning))
                                    : sentence("XID {}, {} times: {}", code, seen.times,
                                               Sentence(facts.meaning)),
         .advice = Sentence(advice_for(facts.action))});
  }
}

void see_environment(const Round& round) {
  constexpr AlertRule rule = AlertRule::environment_changed;
  constexpr std::string_view device_key = "device ";
  for (const EnvironmentChange& change : round.look.changes) {
    if (is_no_news(round, rule, change.at)) continue;
    const bool is_device = change.what.starts_with(device_key);
    const DeviceId id(is_device ? change.what.substr(device_key.size()) : std::string());
    const Device* device = is_device ? find_device(id, round.look.snapshot) : nullptr;
    round.found.seen.push_back(
        {.rule = rule,
         .subject = change.what,
         .severity = facts_of(rule).severity,
         .device = is_device ? std::optional(id) : std::nullopt,
         .index = device != nullptr ? device->index : std::nullopt,
         .since = not_after(change.at, round.look.now),
         .last_seen = not_after(change.at, round.look.now),
         .summary = change_in_words(change),
         .advice = sentence("jobs that counted on the old one may need another start")});
  }
}

}  // namespace

std::span<const AlertRuleFacts> event_rules() {
  static constexpr AlertRuleFacts rules[] = {
      {.rule = AlertRule::xid,
       .name = "xid",
       .severity = AlertSeverity::notice,
       .finds = as_key("the driver reported an error (XID); how bad it is says NVIDIA's catalogue"),
       .lasting = seconds(0),
       .hold = hours(1),
       .is_event = true,
       .see = see_xids},
      {.rule = AlertRule::environment_changed,
       .name = "environment_changed",
       .severity = AlertSeverity::notice,
       .finds = as_key("the driver, the CUDA toolkit, the kernel or a device is not what it was"),
       .lasting = minutes(1),
       .hold = hours(24),
       .is_event = true,
       .see = see_environment},
  };
  return rules;
}

}  // namespace berth::alert
