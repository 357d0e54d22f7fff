#include "probe/observe.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/process.h"
#include "probe/containers/container_files.h"
#include "probe/nvml/nvml_probe.h"
#include "probe/pci/pci_probe.h"
#include "probe/process/ask.h"
#include "probe/process/progress.h"
#include "probe/process/watch.h"
#include "probe/procfs/procfs_probe.h"
#include "probe/replay/replay.h"
#include "probe/roll_call.h"
#include "probe/sim/energy.h"
#include "probe/sim/load.h"
#include "probe/sim/motion.h"
#include "probe/sim/scenario.h"
#include "probe/sim/work.h"
#include "probe/xid_memory.h"
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

/// Who works on simulated devices is a real process: what /proc says of it without blocking.
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

Snapshot simulate(const sim::Scenario& scenario, const Sources& sources,
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

Result<Snapshot> observe(const Sources& sources, const ObserveOptions& options, Clock& clock,
                         EndingChild* ending) {
  if (sources.simulated) {
    const auto scenario = sim::load_scenario(*sources.simulated);
    if (!scenario) return std::unexpected(scenario.error());
    std::optional<Followed> followed;
    if (sources.simulated_work) followed.emplace(*sources.simulated_work);
    sim::JobEnergy energy(scenario->base);
    return simulate(*scenario, sources, options.claims, clock.wall_now(),
                    followed ? &*followed : nullptr, energy);
  }
  if (sources.replay) {
    const auto recording = Recording::open(*sources.replay, sources.piped);
    if (!recording) return std::unexpected(recording.error());
    return recording->at(recording->first());
  }
  const Ask ask = [&](Teller& teller) {
    ask_sources(
        sources,
        {.wanted = options.wanted, .claims = options.claims, .relations = options.relations},
        teller);
  };
  // The kernel's name and the like never block.
  const bool host_wanted = options.wanted.has(Extra::host);
  const Beside host{.step = {wire::StepKind::host, 0}, .work = [&](Snapshot& snapshot) {
                      if (!host_wanted) return;
                      ProcfsProbe({.proc = sources.proc}).observe_host(snapshot.host);
                    }};
  Watched seen = watch(ask, Snapshot{.taken = clock.wall_now()}, options.patience, clock, host);
  if (ending != nullptr) *ending = std::move(seen.child);
  return std::move(seen.snapshot);
}

struct Observer::Parts {
  explicit Parts(const Sources& from)
      : sources(from),
        nvml({.library = from.nvml_library, .proc = from.proc}),
        pci({.sys = from.sys, .pci_ids = from.pci_ids, .proc = from.proc}),
        procfs({.proc = from.proc, .passwd = from.passwd}),
        containers({.root = from.root, .passwd = from.passwd}) {}

  Sources sources;
  std::optional<sim::Scenario> scenario;
  std::optional<sim::JobEnergy> energy;  // of the jobs on the scenario's devices
  std::optional<Followed> followed;
  std::optional<Player> player;
  NvmlProbe nvml;
  PciProbe pci;
  ProcfsProbe procfs;
  ContainerFiles containers;
  std::map<int, Device> identified;
  RollCall roll;
  XidMemory xids;
};

Observer::Observer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Observer::Observer(Observer&&) noexcept = default;
Observer& Observer::operator=(Observer&&) noexcept = default;
Observer::~Observer() = default;

Result<Observer> Observer::start(const Sources& sources) {
  auto parts = std::make_unique<Parts>(sources);
  if (sources.simulated) {
    auto scenario = sim::load_scenario(*sources.simulated);
    if (!scenario) return std::unexpected(std::move(scenario).error());
    parts->energy.emplace(scenario->base);
    parts->scenario.emplace(std::move(*scenario));
    if (sources.simulated_work) parts->followed.emplace(*sources.simulated_work);
  } else if (sources.replay) {
    auto recording = Recording::open(*sources.replay, sources.piped);
    if (!recording) return std::unexpected(std::move(recording).error());
    parts->player.emplace(std::move(*recording));
  }
  return Observer(std::move(parts));
}

Snapshot Observer::look(const Wanted& wanted, const std::vector<Claim>& claims, WallTime now) {
  if (parts_->scenario) {
    return simulate(*parts_->scenario, parts_->sources, claims, now,
                    parts_->followed ? &*parts_->followed : nullptr, *parts_->energy);
  }
  if (parts_->player) return parts_->player->look(now);
  Progress progress;
  progress.snapshot.taken = now;
  Teller teller(progress, nullptr);  // in this process: nobody to send it to
  ask(wanted, claims, teller);
  parts_->xids.add_told(progress.driver_events, now);
  Snapshot snapshot = finished_snapshot(std::move(progress));
  snapshot.xids = parts_->xids.all();
  parts_->roll.call(snapshot);
  return snapshot;
}

void Observer::ask(const Wanted& wanted, const std::vector<Claim>& claims, Teller& teller) {
  ask_with({.nvml = parts_->nvml,
            .pci = parts_->pci,
            .procfs = parts_->procfs,
            .containers = parts_->containers,
            .identified = &parts_->identified},
           {.wanted = wanted, .claims = claims, .events = Events::new_ones}, teller);
}

}  // namespace berth
