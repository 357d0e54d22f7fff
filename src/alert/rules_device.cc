// What is wrong with a device, and who holds one without using it.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>

#include "alert/rules_parts.h"
#include "base/text.h"
#include "base/tr.h"
#include "health/health.h"
#include "snapshot/questions.h"

namespace berth::alert {

namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

Alert of_device(AlertRule rule, const Device& device, WallTime at) {
  return {.rule = rule,
          .subject = device.id.text(),
          .severity = facts_of(rule).severity,
          .device = device.id,
          .index = device.parent ? std::nullopt : device.index,
          .since = at,
          .last_seen = at};
}

void not_known(const Round& round, AlertRule rule, const Device& device) {
  round.found.unknown.push_back({.rule = rule, .subject = device.id.text()});
}

/// Whether a reading may have said something and could not be had. `unsupported` says nothing for
/// ever, and is no reason to keep an alert open.
template <class T>
bool is_hidden(const Reading<T>& reading) {
  return !reading.has_value() && reading.why() != Absent::unsupported;
}

bool is_hidden(const Device& device, std::initializer_list<Detail> details) {
  return std::any_of(details.begin(), details.end(), [&](Detail detail) {
    const auto flag = device.details.get<bool>(detail);
    // A detail that nobody asked for is not sampled: a look of less depth ends no alert.
    return is_hidden(flag);
  });
}

/// The first finding with one of these codes.
const Finding* finding_of(const DeviceHealth& health,
                          std::initializer_list<std::string_view> codes) {
  for (const Finding& finding : health.findings) {
    if (std::find(codes.begin(), codes.end(), finding.rule) != codes.end()) return &finding;
  }
  return nullptr;
}

/// What health found, if it did, as a match of this rule.
bool see_finding(const Round& round, AlertRule rule, const Device& device, const Finding* finding) {
  if (finding == nullptr) return false;
  Alert match = of_device(rule, device, round.look.now);
  match.summary = finding->evidence.front();
  match.advice = advice_of(*finding);
  round.found.seen.push_back(std::move(match));
  return true;
}

/// Who a card is. A card that was lost before this program began cannot say it. Then it is the card
/// that had its number, unless that one is there.
DeviceId identity_of(const Device& device, const AlertLook& look) {
  const bool says_it = !device.lost || device.uuid.get() || !device.index;
  const auto known = says_it ? look.cards.end() : look.cards.find(*device.index);
  const bool is_it =
      known != look.cards.end() && find_device(known->second, look.snapshot) == nullptr;
  return is_it ? known->second : device.id;
}

void see_lost(const Round& round, const Device& device, const DeviceHealth& health) {
  if (!see_finding(round, AlertRule::gpu_lost, device, finding_of(health, {"lost"}))) return;
  Alert& match = round.found.seen.back();
  match.device = identity_of(device, round.look);
  match.subject = match.device->text();
}

/// What takes a card out of use although it answers. A card without a driver is left out: it was
/// taken away on purpose, or another rule reports it.
void see_failed(const Round& round, const Device& device, const DeviceHealth& health) {
  constexpr AlertRule rule = AlertRule::gpu_failed;
  if (device.lost) return;
  const auto found = std::ranges::find_if(health.findings, [](const Finding& finding) {
    return finding.severity == Severity::error && finding.rule != "unusable";
  });
  if (found != health.findings.end()) {
    see_finding(round, rule, device, &*found);
    return;
  }
  constexpr std::array verdicts = {Detail::remapped_rows_failed, Detail::recovery_action,
                                   Detail::unrepairable_memory};
  const bool any_hidden = std::ranges::any_of(
      verdicts, [&](Detail verdict) { return is_hidden(device.details.cell(verdict)); });
  if (any_hidden) not_known(round, rule, device);
}

void see_pending_repair(const Round& round, const Device& device, const DeviceHealth& health) {
  constexpr AlertRule rule = AlertRule::ecc_pending;
  if (see_finding(
          round, rule, device,
          finding_of(health, {"row_remap_pending", "page_retirement_pending", "repair_pending"}))) {
    return;
  }
  if (device.lost ||
      is_hidden(device, {Detail::remapped_rows_pending, Detail::retired_pages_pending})) {
    not_known(round, rule, device);
  }
}

void see_throttling(const Round& round, const Device& device, const DeviceHealth& health) {
  constexpr AlertRule rule = AlertRule::throttled_long;
  if (see_finding(round, rule, device,
                  finding_of(health, {"hardware_thermal_slowdown", "power_brake",
                                      "hardware_slowdown", "software_thermal_slowdown"}))) {
    return;
  }
  if (device.lost || is_hidden(device.throttle_reasons)) not_known(round, rule, device);
}

void see_ghost_memory(const Round& round, const Device& device) {
  constexpr AlertRule rule = AlertRule::ghost_memory;
  const Division division = division_of(device);
  if (division == Division::divided) return;
  const Reading<Bytes> ghost = unexplained_memory(device, round.look.snapshot);
  if (division == Division::unknown || device.lost || is_hidden(ghost)) {
    return not_known(round, rule, device);
  }
  if (!ghost.get() || *ghost.get() < Bytes(round.threshold(rule))) return;
  Alert match = of_device(rule, device, round.look.now);
  match.summary =
      sentence("{} are held by no process in the driver's list", short_size(*ghost.get()));
  match.advice = sentence("berth ps says who has the device open");
  round.found.seen.push_back(std::move(match));
}

void add_user(std::vector<AlertUser>& users, AlertUser user) {
  constexpr std::size_t most = 16;
  if (users.size() >= most || std::find(users.begin(), users.end(), user) != users.end()) return;
  users.push_back(std::move(user));
}

/// What processes hold on a device, as far as the driver says.
struct HeldByProcesses {
  Bytes at_least{0};
  bool is_all = true;  // false: what one of them holds is hidden
  std::vector<AlertUser> users;
};

HeldByProcesses held_by_processes(const Device& device, const Snapshot& snapshot) {
  HeldByProcesses held;
  for (const GpuProcess* use : processes_on(device.id, snapshot)) {
    if (is_background(*use)) continue;
    held.at_least += use->memory.get().value_or(Bytes{0});
    held.is_all = held.is_all && !is_hidden(use->memory);
    const HostProcess* process = find_process(use->pid, snapshot);
    if (process == nullptr || !process->user.get()) continue;
    add_user(held.users, {.uid = process->uid.get(), .name = *process->user.get()});
  }
  return held;
}

/// The device and its holders: the next holder begins anew, and is not charged with the hours of
/// the one before.
std::string subject_of_holders(const Device& device, const std::vector<const Claim*>& claims,
                               const std::vector<AlertUser>& users) {
  std::set<std::string> holders;
  for (const Claim* claim : claims) holders.insert(claim->id);
  if (claims.empty()) {
    for (const AlertUser& user : users) {
      holders.insert(user.uid ? fmt::format("uid {}", *user.uid) : user.name);
    }
  }
  return device.id.text() + " " + joined(holders, " ");
}

void see_idle_holder(const Round& round, const Device& device) {
  constexpr AlertRule rule = AlertRule::idle_holder;
  if (division_of(device) == Division::divided) return;
  const Reading<Percent> load = load_now(device);
  if (device.lost || is_hidden(load) || is_hidden(device.process_count)) {
    return not_known(round, rule, device);
  }
  if (!load.get() || *load.get() > most_load_of_idle) return;
  const Snapshot& snapshot = round.look.snapshot;
  const HeldByProcesses processes = held_by_processes(device, snapshot);
  const Bytes held = processes.at_least;
  const std::vector<const Claim*> claims = claims_on(device.id, snapshot);
  const bool is_held = held >= Bytes(round.threshold(rule)) && held > Bytes{0};
  if (!is_held && claims.empty()) {
    if (!processes.is_all) not_known(round, rule, device);
    return;
  }
  Alert match = of_device(rule, device, round.look.now);
  match.users = processes.users;
  for (const Claim* claim : claims) {
    add_user(match.users, {.uid = claim->uid, .name = claim->user});
  }
  match.subject = subject_of_holders(device, claims, match.users);
  match.summary =
      claims.empty() ? sentence("{} are held and nothing is computed", short_size(held))
      : is_held ? sentence("{} are held under a lease and nothing is computed", short_size(held))
                : sentence("it is leased and nothing is computed");
  match.advice =
      claims.empty()
          ? sentence("berth ps says by what; ask whose it is")
          : sentence("berth ps and berth leases say by what; ask whose it is, or berth stop");
  round.found.seen.push_back(std::move(match));
}

}  // namespace

std::span<const AlertRuleFacts> device_rules() {
  static constexpr AlertRuleFacts rules[] = {
      {.rule = AlertRule::gpu_lost,
       .name = "gpu_lost",
       .severity = AlertSeverity::critical,
       .finds = as_key("a GPU fell off the bus, or the driver lists it no longer"),
       .lasting = seconds(5),
       .hold = minutes(2),
       .see_card = see_lost},
      {.rule = AlertRule::gpu_failed,
       .name = "gpu_failed",
       .severity = AlertSeverity::critical,
       .finds = as_key("a GPU that answers and is given to no job: memory that cannot be repaired, "
                       "or as the driver says"),
       .lasting = seconds(30),
       .hold = minutes(2),
       .see_card = see_failed},
      {.rule = AlertRule::ecc_pending,
       .name = "ecc_pending",
       .severity = AlertSeverity::warning,
       .finds =
           as_key("broken memory waits to be replaced: a row to remap, a page to retire, a repair"),
       .lasting = seconds(30),
       .hold = minutes(2),
       .see_card = see_pending_repair},
      {.rule = AlertRule::throttled_long,
       .name = "throttled_long",
       .severity = AlertSeverity::warning,
       .finds = as_key("heat or the power supply slows a GPU down"),
       .lasting = minutes(5),
       .hold = minutes(5),
       .gap = seconds(15),
       .see_card = see_throttling},
      {.rule = AlertRule::ghost_memory,
       .name = "ghost_memory",
       .severity = AlertSeverity::warning,
       .finds = as_key(
           "memory is held that no process in the driver's list explains, at least the threshold"),
       .unit = ThresholdUnit::bytes,
       .threshold = gib,
       .lasting = minutes(5),
       .hold = minutes(2),
       .see_device = see_ghost_memory},
      {.rule = AlertRule::idle_holder,
       .name = "idle_holder",
       .severity = AlertSeverity::notice,
       .finds = as_key(
           "a lease, or a process with at least the threshold of memory, holds a GPU that computes "
           "nothing"),
       .unit = ThresholdUnit::bytes,
       .threshold = gib / 4,
       .lasting = minutes(30),
       .hold = minutes(2),
       .see_device = see_idle_holder},
  };
  return rules;
}

}  // namespace berth::alert
