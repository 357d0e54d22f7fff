#include "view/idle_list.h"

#include <algorithm>

#include "alert/rule_matches.h"
#include "snapshot/questions.h"
#include "view/process_rows.h"

namespace berth {

namespace {

constexpr double least_worthwhile_percent = 30;
constexpr std::int64_t hour_ms = 3'600'000;
/// A history is written in batches, and one missing step is not a gap.
constexpr std::int64_t patience_ms = 5 * 60'000;

const HistorySeries* load_of(const DeviceId& device, const IdleEvidence& evidence) {
  const auto found = std::ranges::find(evidence.loads, device, &HistorySeries::device);
  return found == evidence.loads.end() ? nullptr : &*found;
}

/// The load of the last hour. Nothing: not all of it was looked at.
std::optional<Percent> load_of_last_hour(const HistorySeries& load, WallTime now) {
  constexpr std::int64_t least_seen_ms = hour_ms * 9 / 10;
  double sum = 0;
  std::int64_t steps = 0;
  for (const SeriesPoint& point : load.points) {
    if (point.at.unix_ms < now.unix_ms - hour_ms) continue;
    sum += point.mean;
    ++steps;
  }
  if (steps * load.step_ms < least_seen_ms) return std::nullopt;
  return Percent(sum / static_cast<double>(steps));
}

class IdleLook {
 public:
  IdleLook(const Snapshot& snapshot, const IdleEvidence& evidence, const Policy* policy)
      : snapshot_(snapshot), index_(snapshot), evidence_(evidence), policy_(policy) {}

  std::vector<IdleRow> rows() {
    for (const Device& device : snapshot_.devices) {
      for (const Claim* claim : index_.claims_on(device.id)) add_lease(device, *claim);
    }
    add_unleased();
    add_processes();
    for (const GhostRow& ghost : ghost_rows(index_)) {
      rows_.push_back({.kind = IdleKind::nobody, .device = ghost.device, .held = ghost.memory});
    }
    std::ranges::stable_sort(rows_, {}, [](const IdleRow& row) { return row.device; });
    return std::move(rows_);
  }

 private:
  [[nodiscard]] std::int64_t idle_after(std::optional<uid_t> uid) const {
    const auto said = policy_ != nullptr && uid ? policy_->of(*uid).idle_after : std::nullopt;
    return said.value_or(idle_after_by_itself).count();
  }

  /// Whether the device or lease is idle, as far as it is known since when. The time before it
  /// began is not its own.
  bool judge(const Device& device, WallTime began, std::optional<uid_t> uid, IdleRow& row) const {
    const HistorySeries* load = load_of(device.id, evidence_);
    const auto calm = load != nullptr ? calm_since(*load, snapshot_.taken) : std::nullopt;
    const WallTime now = snapshot_.taken;
    if (now.unix_ms - began.unix_ms < idle_after(uid)) return false;
    const Reading<Percent> at_once = load_now(device);
    if (at_once.get() && *at_once.get() > most_load_of_idle) return false;
    if (!calm) {
      // A history that was kept all the time and shows load says that it is not idle.
      if (load != nullptr && is_recent(*load)) return false;
      return at_once.get().has_value();
    }
    const WallTime since{std::max(calm->unix_ms, began.unix_ms)};
    // A young history says nothing of the time before it. Then it says no more than this look.
    if (now.unix_ms - since.unix_ms < idle_after(uid)) return *calm == load->points.front().at;
    row.since = since;
    row.sure = IdleSure::measured;
    return true;
  }

  [[nodiscard]] bool is_recent(const HistorySeries& load) const {
    return !load.points.empty() &&
           snapshot_.taken.unix_ms - load.points.back().at.unix_ms < patience_ms + load.step_ms;
  }

  void add_lease(const Device& device, const Claim& claim) {
    IdleRow row{.device = &device, .users = {claim.user}, .lease = claim.id, .run = claim.run};
    for (const GpuProcess* use : index_.processes_on(device.id)) {
      if (index_.claim_of(use->pid) != &claim || !use->memory.get()) continue;
      row.held = row.held.value_or(Bytes{0}) + *use->memory.get();
    }
    if (judge(device, claim.since, claim.uid, row)) {
      rows_.push_back(std::move(row));
      return;
    }
    const HistorySeries* load = load_of(device.id, evidence_);
    if (load == nullptr || snapshot_.taken.unix_ms - claim.since.unix_ms < hour_ms) return;
    // If a device computed nothing all the hour, the policy says when that counts.
    const WallTime hour_ago{snapshot_.taken.unix_ms - hour_ms};
    const auto calm = calm_since(*load, snapshot_.taken);
    if (calm && *calm <= hour_ago) return;
    const auto mean = load_of_last_hour(*load, snapshot_.taken);
    if (!mean || mean->count() >= least_worthwhile_percent) return;
    row.kind = IdleKind::low_load;
    row.sure = IdleSure::measured;
    row.since = hour_ago;
    row.mean_load = mean;
    rows_.push_back(std::move(row));
  }

  /// What the alert of the same name sees, where no lease is.
  void add_unleased() {
    const auto seen =
        matches({.snapshot = snapshot_, .now = snapshot_.taken}, AlertSettings()).seen;
    for (const Alert& match : seen) {
      if (match.rule != AlertRule::idle_holder || !match.device) continue;
      const Device* device = index_.device(*match.device);
      if (device == nullptr || !index_.claims_on(device->id).empty()) continue;
      IdleRow row{.kind = IdleKind::memory, .device = device};
      std::optional<uid_t> uid;
      for (const AlertUser& user : match.users) {
        row.users.push_back(user.name);
        if (!uid) uid = user.uid;
      }
      WallTime began{};  // of the last of them
      for (const GpuProcess* use : index_.processes_on(device->id)) {
        const HostProcess* process = index_.process(use->pid);
        if (use->memory.get()) row.held = row.held.value_or(Bytes{0}) + *use->memory.get();
        if (process != nullptr && process->started.get()) {
          began = std::max(began, *process->started.get());
        }
      }
      if (judge(*device, began, uid, row)) rows_.push_back(std::move(row));
    }
  }

  void add_processes() {
    for (const ProcessRow& one : process_rows(index_, {})) {
      IdleRow row{.device = one.device, .pid = one.use->pid, .held = one.use->memory.get()};
      if (one.process != nullptr && one.process->user.get()) {
        row.users.push_back(*one.process->user.get());
      }
      if (has_ended(one)) {
        row.kind = IdleKind::ended;
      } else if (is_orphan(one)) {
        row.kind = IdleKind::orphan;
        row.sure = IdleSure::perhaps;
        row.has_no_terminal = one.process->has_terminal == false;
      } else {
        continue;
      }
      rows_.push_back(std::move(row));
    }
  }

  /// Not a service, a container, a desktop: those have no parent by design. Nor what a terminal
  /// still controls.
  [[nodiscard]] bool is_orphan(const ProcessRow& one) const {
    return one.claim == nullptr && one.presence == Presence::alive && !is_background(*one.use) &&
           !one.process->enclosure && !one.process->has_terminal.value_or(false) &&
           is_adopted(*one.process);
  }

  /// By init, or by a user's systemd, which adopts orphans as init does.
  [[nodiscard]] bool is_adopted(const HostProcess& process) const {
    if (process.ancestors == std::vector<pid_t>{1}) return true;
    if (process.ancestors.size() != 2 || process.ancestors[1] != 1) return false;
    const HostProcess* parent = index_.process(process.ancestors[0]);
    return parent != nullptr &&
           parent->executable_name.get() == std::optional<std::string>("systemd");
  }

  const Snapshot& snapshot_;
  SnapshotIndex index_;
  const IdleEvidence& evidence_;
  const Policy* policy_;
  std::vector<IdleRow> rows_;
};

}  // namespace

std::string_view name_of(IdleKind kind) {
  switch (kind) {
    case IdleKind::lease:
      return "lease";
    case IdleKind::memory:
      return "memory";
    case IdleKind::low_load:
      return "low_load";
    case IdleKind::ended:
      return "ended";
    case IdleKind::nobody:
      return "nobody";
    case IdleKind::orphan:
      return "orphan";
  }
  return "lease";
}

std::string_view name_of(IdleSure sure) {
  switch (sure) {
    case IdleSure::measured:
      return "measured";
    case IdleSure::seen:
      return "seen";
    case IdleSure::perhaps:
      return "perhaps";
  }
  return "seen";
}

std::optional<WallTime> calm_since(const HistorySeries& load, WallTime now) {
  std::optional<WallTime> since;
  std::int64_t next = now.unix_ms;
  for (auto point = load.points.rbegin(); point != load.points.rend(); ++point) {
    const bool is_gap = next - (point->at.unix_ms + load.step_ms) > patience_ms;
    if (is_gap || point->most > most_load_of_idle.count()) break;
    since = point->at;
    next = point->at.unix_ms;
  }
  return since;
}

std::vector<IdleRow> idle_rows(const Snapshot& snapshot, const IdleEvidence& evidence,
                               const Policy* policy) {
  return IdleLook(snapshot, evidence, policy).rows();
}

}  // namespace berth
