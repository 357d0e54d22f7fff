#include "probe/offline.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/process.h"
#include "probe/procfs/procfs_probe.h"
#include "probe/sim/load.h"
#include "probe/sim/motion.h"
#include "probe/sim/scenario.h"
#include "probe/sim/work.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

/// Claims whose job is running. The first line of /proc/PID/stat never blocks.
std::vector<Claim> with_living_jobs(std::vector<Claim> claims, const std::string& proc) {
  std::erase_if(claims, [&](const Claim& claim) {
    if (!claim.job) return true;
    const auto now = identify_process(claim.job->pid, proc);
    if (!now) return true;
    return claim.job->start_ticks != 0 && claim.job->start_ticks != now->start_ticks;
  });
  return claims;
}

/// Jobs on simulated devices are real processes: what /proc says of them without blocking.
void add_real_processes(Snapshot& snapshot, const std::vector<Claim>& claims,
                        const Sources& sources) {
  ProcfsProbe procfs({.proc = sources.proc, .passwd = sources.passwd});
  for (const Claim& claim : claims) {
    for (HostProcess& process : snapshot.processes) {
      if (process.id.pid != claim.job->pid) continue;
      HostProcess real = procfs.look_at(process.id.pid);
      if (!real.uid.get()) continue;
      real.user = process.user;
      real.command = process.command;
      process = std::move(real);
    }
  }
}

/// Workers on simulated devices are real processes: adds what /proc tells of them without blocking.
void add_workers(Snapshot& snapshot, const std::vector<sim::WorkFile>& files,
                 const Sources& sources) {
  ProcfsProbe procfs({.proc = sources.proc, .passwd = sources.passwd});
  for (const sim::WorkFile& file : files) {
    if (!file.process) continue;
    const pid_t pid = file.process->pid;
    if (find_process(pid, snapshot) != nullptr) continue;
    HostProcess process = procfs.look_at(pid);
    process.command = procfs.command_of(pid);
    const auto user = process.uid.get() ? procfs.local_user(*process.uid.get()) : std::nullopt;
    if (user) process.user = *user;
    snapshot.processes.push_back(std::move(process));
  }
  std::ranges::sort(snapshot.processes,
                    [](const auto& a, const auto& b) { return a.id.pid < b.id.pid; });
}

/// The folder that simulated devices follow, and when it was looked at last.
struct Followed {
  explicit Followed(std::string folder) : work(std::move(folder)) {}
  sim::WorkFolder work;
  std::optional<WallTime> last;
};

Snapshot simulated_at(const sim::Scenario& scenario, const Sources& sources,
                      const std::vector<Claim>& claims, WallTime now, Followed* followed,
                      sim::JobEnergy& energy) {
  const std::vector<Claim> running = with_living_jobs(claims, sources.proc);
  Snapshot snapshot = sim::scenario_at(scenario, now);
  if (followed != nullptr) {
    const auto files = followed->work.read(now, sources.proc);
    sim::put_work(snapshot, files, now, followed->last);
    followed->last = now;
    add_workers(snapshot, files, sources);
  } else {
    sim::add_jobs(snapshot, running, scenario.seed);
    energy.add(snapshot, running);
    add_real_processes(snapshot, running, sources);
  }
  for (Device& device : snapshot.devices) sim::tell_power_in_each_way(device);
  return snapshot;
}

}  // namespace

struct OfflineSource::Parts {
  Sources sources;
  std::optional<sim::Scenario> scenario;
  std::optional<sim::JobEnergy> energy;  // of the jobs on the scenario's devices
  std::optional<Followed> followed;
  std::optional<Player> player;
  std::optional<Snapshot> first;  // of a recording that does not play
};

OfflineSource::OfflineSource(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
OfflineSource::OfflineSource(OfflineSource&&) noexcept = default;
OfflineSource& OfflineSource::operator=(OfflineSource&&) noexcept = default;
OfflineSource::~OfflineSource() = default;

Result<OfflineSource> OfflineSource::simulate(const Sources& sources) {
  auto scenario = sim::load_scenario(*sources.simulated);
  if (!scenario) return std::unexpected(std::move(scenario).error());
  auto parts = std::make_unique<Parts>();
  parts->sources = sources;
  parts->energy.emplace(scenario->base);
  parts->scenario.emplace(std::move(*scenario));
  if (sources.simulated_work) parts->followed.emplace(*sources.simulated_work);
  return OfflineSource(std::move(parts));
}

Result<OfflineSource> OfflineSource::play(Recording recording, Looks looks) {
  auto parts = std::make_unique<Parts>();
  if (looks == Looks::once) {
    auto first = recording.at(recording.first());
    if (!first) return std::unexpected(std::move(first).error());
    parts->first = std::move(*first);
  } else {
    parts->player.emplace(std::move(recording));
  }
  return OfflineSource(std::move(parts));
}

Snapshot OfflineSource::look(const std::vector<Claim>& claims, WallTime now) {
  if (parts_->first) return *parts_->first;
  if (parts_->player) return parts_->player->look(now);
  return simulated_at(*parts_->scenario, parts_->sources, claims, now,
                      parts_->followed ? &*parts_->followed : nullptr, *parts_->energy);
}

}  // namespace berth
