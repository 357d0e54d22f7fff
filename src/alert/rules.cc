#include "alert/rules.h"

#include <algorithm>

namespace berth {

namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

// A look comes once a second, details every ten. What a person would do at once begins after a few
// looks; what mends itself (heat, a job's pause) after the time in which it usually does.
constexpr auto table = std::to_array<AlertRuleFacts>({
    {AlertRule::gpu_lost, "gpu_lost", AlertSeverity::critical,
     "a GPU fell off the bus, or the driver lists it no longer", ThresholdUnit::none, 0, seconds(5),
     minutes(2), seconds(0), false},
    {AlertRule::gpu_failed, "gpu_failed", AlertSeverity::critical,
     "a GPU that answers and is given to no job: memory that cannot be repaired, or as the driver "
     "says",
     ThresholdUnit::none, 0, seconds(30), minutes(2), seconds(0), false},
    {AlertRule::xid, "xid", AlertSeverity::notice,
     "the driver reported an error (XID); how bad it is says NVIDIA's catalogue",
     ThresholdUnit::none, 0, seconds(0), hours(1), seconds(0), true},
    {AlertRule::ecc_pending, "ecc_pending", AlertSeverity::warning,
     "broken memory waits to be replaced: a row to remap, a page to retire, a repair",
     ThresholdUnit::none, 0, seconds(30), minutes(2), seconds(0), false},
    {AlertRule::throttled_long, "throttled_long", AlertSeverity::warning,
     "heat or the power supply slows a GPU down", ThresholdUnit::none, 0, minutes(5), minutes(5),
     seconds(15), false},
    {AlertRule::ghost_memory, "ghost_memory", AlertSeverity::warning,
     "memory is held that no process in the driver's list explains, at least the threshold",
     ThresholdUnit::bytes, gib, minutes(5), minutes(2), seconds(0), false},
    {AlertRule::idle_holder, "idle_holder", AlertSeverity::notice,
     "a lease, or a process with at least the threshold of memory, holds a GPU that computes "
     "nothing",
     ThresholdUnit::bytes, gib / 4, minutes(30), minutes(2), seconds(0), false},
    {AlertRule::disk_nearly_full, "disk_nearly_full", AlertSeverity::warning,
     "the file system of berth's history and state is fuller than the threshold",
     ThresholdUnit::percent, 95, minutes(1), minutes(5), seconds(0), false},
    {AlertRule::probe_failing, "probe_failing", AlertSeverity::warning,
     "a source of readings cannot be asked, or does not answer", ThresholdUnit::none, 0, minutes(1),
     minutes(1), seconds(0), false},
    {AlertRule::environment_changed, "environment_changed", AlertSeverity::notice,
     "the driver, the CUDA toolkit, the kernel or a device is not what it was", ThresholdUnit::none,
     0, minutes(1), hours(24), seconds(0), true},
});

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].rule != static_cast<AlertRule>(i)) return false;
  }
  return table.size() == alert_rule_count;
}
static_assert(is_in_order(), "a rule's row is found by its number");

}  // namespace

std::span<const AlertRuleFacts, alert_rule_count> alert_rules() { return table; }

const AlertRuleFacts& facts_of(AlertRule rule) { return table[static_cast<std::size_t>(rule)]; }

std::string_view name_of(AlertRule rule) { return facts_of(rule).name; }

std::optional<AlertRule> alert_rule_from_name(std::string_view name) {
  const auto* found = std::ranges::find(table, name, &AlertRuleFacts::name);
  return found == table.end() ? std::nullopt : std::optional(found->rule);
}

std::string_view name_of(AlertSeverity severity) {
  switch (severity) {
    case AlertSeverity::notice:
      return "notice";
    case AlertSeverity::warning:
      return "warning";
    case AlertSeverity::critical:
      return "critical";
  }
  return "critical";
}

std::optional<AlertSeverity> severity_from_name(std::string_view name) {
  for (const AlertSeverity one :
       {AlertSeverity::notice, AlertSeverity::warning, AlertSeverity::critical}) {
    if (name_of(one) == name) return one;
  }
  return std::nullopt;
}

std::string_view name_of(Ending ending) {
  switch (ending) {
    case Ending::resolved:
      return "resolved";
    case Ending::unknown:
      return "unknown";
    case Ending::unwatched:
      return "unwatched";
  }
  return "unknown";
}

std::optional<Ending> ending_from_name(std::string_view name) {
  for (const Ending one : {Ending::resolved, Ending::unknown, Ending::unwatched}) {
    if (name_of(one) == name) return one;
  }
  return std::nullopt;
}

AlertSettings::AlertSettings() {
  for (const AlertRuleFacts& facts : table) {
    of(facts.rule) = {
        .is_on = true, .threshold = facts.threshold, .lasting = facts.lasting, .hold = facts.hold};
  }
}

}  // namespace berth
