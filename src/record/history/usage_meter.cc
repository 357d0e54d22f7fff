#include "record/history/usage_meter.h"

#include <cmath>
#include <set>
#include <utility>

#include "record/history/rollup.h"

namespace berth::history {

namespace {

using Holder = std::pair<std::string, std::string>;  // user, job

/// Leases where there are any; else those whose processes compute there.
std::set<Holder> holders_of(const Device& device, const SnapshotIndex& index) {
  std::set<Holder> holders;
  const auto add_claims = [&](const DeviceId& id) {
    for (const Claim* claim : index.claims_on(id)) {
      holders.emplace(claim->user, claim->run.empty() ? claim->id : claim->run);
    }
  };
  add_claims(device.id);
  if (device.parent) add_claims(*device.parent);
  if (!holders.empty()) return holders;
  for (const GpuProcess* use : index.processes_itself(device.id)) {
    if (is_background(*use)) continue;
    const HostProcess* process = index.process(use->pid);
    const auto user = process == nullptr ? std::nullopt : process->user.get();
    holders.emplace(user.value_or(""), "");
  }
  return holders;
}

/// Millijoules of a counter's step; nothing: it has none, or went back.
std::optional<std::int64_t> counted(const Reading<Millijoules>& before,
                                    const Reading<Millijoules>& now) {
  if (!before.get() || !now.get()) return std::nullopt;
  const auto grown = minus(*now.get(), *before.get());
  // 100 kW for ten seconds: what is more is no card's.
  if (!grown || grown->count() > 1'000'000'000) return std::nullopt;
  return static_cast<std::int64_t>(grown->count());
}

std::optional<std::int64_t> integrated(const Reading<Milliwatts>& before,
                                       const Reading<Milliwatts>& now, std::int64_t step_ms) {
  if (!before.get() || !now.get()) return std::nullopt;
  const double mean =
      (static_cast<double>(before.get()->count()) + static_cast<double>(now.get()->count())) / 2;
  if (mean > 1e8) return std::nullopt;
  return std::llround(mean * static_cast<double>(step_ms) / 1000);
}

}  // namespace

Use& Use::operator+=(const Use& other) {
  watched_ms += other.watched_ms;
  held_ms += other.held_ms;
  busy_ms += other.busy_ms;
  idle_ms += other.idle_ms;
  counted_mj += other.counted_mj;
  integrated_mj += other.integrated_mj;
  energy_ms += other.energy_ms;
  return *this;
}

void UsageMeter::add_device(const Device& device, const SnapshotIndex& index, std::int64_t from_ms,
                            std::int64_t step_ms) {
  const auto before = before_.find(device.id);
  if (before == before_.end()) return;
  const std::int64_t bucket = floor_to(from_ms, usage_bucket_ms);
  // The instances of a divided card are had, not the card.
  const auto holders =
      division_of(device) == Division::divided && index.claims_on(device.id).empty()
          ? std::set<Holder>{}
          : holders_of(device, index);
  Use use{.watched_ms = step_ms};
  const auto by_counter = counted(before->second.energy, device.energy);
  const auto by_power = integrated(before->second.power, device.power_draw, step_ms);
  if (by_counter) {
    use.counted_mj = *by_counter;
  } else if (by_power) {
    use.integrated_mj = *by_power;
  }
  if (by_counter || by_power) use.energy_ms = step_ms;
  if (!holders.empty()) {
    use.held_ms = step_ms;
    if (const auto load = load_now(device).get()) {
      (*load > idle_up_to ? use.busy_ms : use.idle_ms) = step_ms;
    }
  }
  devices_[{bucket, device.id}] += use;
  // Users who share a device have it for all of that time each. A user's jobs have equal parts of
  // it: three jobs on one GPU hold one GPU. Its energy is divided among all jobs.
  std::map<std::string_view, std::int64_t> jobs_of;
  for (const auto& [user, job] : holders) ++jobs_of[user];
  std::map<std::string_view, std::int64_t> jobs_before;
  const auto sharers = static_cast<std::int64_t>(holders.size());
  std::int64_t place = 0;
  for (const auto& [user, job] : holders) {
    const auto part = [](std::int64_t whole, std::int64_t parts, std::int64_t which) {
      return whole / parts + (which < whole % parts ? 1 : 0);
    };
    const std::int64_t own = jobs_before[user]++;
    Use share = use;
    share.watched_ms = 0;
    for (std::int64_t Use::* time :
         {&Use::held_ms, &Use::busy_ms, &Use::idle_ms, &Use::energy_ms}) {
      share.*time = part(use.*time, jobs_of[user], own);
    }
    share.counted_mj = part(use.counted_mj, sharers, place);
    share.integrated_mj = part(use.integrated_mj, sharers, place);
    holders_[{bucket, device.id, user, job}] += share;
    ++place;
  }
}

void UsageMeter::add(const SnapshotIndex& index) {
  const Snapshot& snapshot = index.snapshot();
  if (last_) {
    const std::int64_t step = snapshot.taken.unix_ms - last_->unix_ms;
    if (step > 0 && step <= longest_ms_) {
      for (const Device& device : snapshot.devices) {
        add_device(device, index, last_->unix_ms, step);
      }
    }
  }
  last_ = snapshot.taken;
  before_.clear();
  for (const Device& device : snapshot.devices) {
    before_[device.id] = {.energy = device.energy, .power = device.power_draw};
  }
}

void UsageMeter::clear() {
  devices_.clear();
  holders_.clear();
}

}  // namespace berth::history
