#include "snapshot/questions.h"

#include <algorithm>

#include "snapshot/snapshot_index.h"

namespace berth {

namespace {
// An idle driver holds a few MiB (framebuffer console, persistence): not somebody's memory.
constexpr Bytes negligible_memory{std::uint64_t{64} << 20};
// Below this the utilisation counter flickers without a job.
constexpr Percent negligible_load{3.0};
}  // namespace

std::string_view name_of(DeviceState state) {
  switch (state) {
    case DeviceState::free:
      return "free";
    case DeviceState::leased:
      return "leased";
    case DeviceState::busy:
      return "busy";
    case DeviceState::held:
      return "held";
    case DeviceState::unknown:
      return "unknown";
    case DeviceState::lost:
      return "lost";
    case DeviceState::unusable:
      return "unusable";
  }
  return "unusable";
}

namespace {

using Processes = std::vector<const GpuProcess*>;

DeviceState judge(const Device& device, bool is_leased, const Processes& processes) {
  if (device.lost) return DeviceState::lost;
  if (!device.unusable_because.empty()) return DeviceState::unusable;
  if (is_leased) return DeviceState::leased;

  const bool computes = std::any_of(processes.begin(), processes.end(),
                                    [](const GpuProcess* p) { return !only_draws(*p); });
  const bool loaded =
      device.utilization_gpu.get() && *device.utilization_gpu.get() > negligible_load;
  if (computes) {
    // A process that only sits on its memory is the most common complaint on a shared server. A
    // pause between two batches is not that: where the driver keeps a history, all of it is asked.
    const auto& history = device.utilization_history.get();
    const bool was_loaded =
        history && std::any_of(history->begin(), history->end(),
                               [](const auto& sample) { return sample.busy > negligible_load; });
    const bool idle = device.utilization_gpu.get() && !loaded && !was_loaded;
    return idle ? DeviceState::held : DeviceState::busy;
  }
  if (!processes.empty()) return DeviceState::free;  // a desktop draws
  if (loaded) return DeviceState::busy;              // somebody in a namespace we cannot see
  // Nobody was seen because nobody could be: that is not the same as nobody.
  const auto unread = [](const auto& reading) {
    return !reading.has_value() && reading.why() == Absent::failed;
  };
  if (unread(device.process_count) || unread(device.memory_used)) return DeviceState::unknown;
  if (device.memory_used.get() && *device.memory_used.get() > negligible_memory &&
      device.kind != DeviceKind::nvidia_mig && !device.mig_mode.get().value_or(false)) {
    return DeviceState::held;
  }
  return DeviceState::free;
}

Reading<Bytes> unexplained_by(const Device& device, const Processes& processes) {
  if (!device.memory_used.get()) return device.memory_used.why();
  Bytes explained;
  for (const GpuProcess* process : processes) {
    if (!process->memory.get()) return process->memory.why();
    explained += *process->memory.get();
  }
  // The driver's two counts are taken at different moments: never below zero.
  return minus(*device.memory_used.get(), explained).value_or(Bytes{0});
}

}  // namespace

DeviceState state_of(const Device& device, const Snapshot& snapshot) {
  return judge(device, !claims_on(device.id, snapshot).empty(), processes_on(device.id, snapshot));
}
DeviceState state_of(const Device& device, const SnapshotIndex& index) {
  return judge(device, !index.claims_on(device.id).empty(), index.processes_on(device.id));
}

const Device* find_device(const DeviceId& id, const Snapshot& snapshot) {
  const auto found = std::find_if(snapshot.devices.begin(), snapshot.devices.end(),
                                  [&](const Device& device) { return device.id == id; });
  return found == snapshot.devices.end() ? nullptr : &*found;
}

const HostProcess* find_process(pid_t pid, const Snapshot& snapshot) {
  const auto found =
      std::find_if(snapshot.processes.begin(), snapshot.processes.end(),
                   [&](const HostProcess& process) { return process.id.pid == pid; });
  return found == snapshot.processes.end() ? nullptr : &*found;
}

std::vector<const GpuProcess*> processes_on(const DeviceId& device, const Snapshot& snapshot) {
  std::vector<const DeviceId*> instances;
  for (const Device& other : snapshot.devices) {
    if (other.parent == device) instances.push_back(&other.id);
  }
  std::vector<const GpuProcess*> found;
  for (const GpuProcess& process : snapshot.gpu_processes) {
    if (process.device == device ||
        std::any_of(instances.begin(), instances.end(),
                    [&](const DeviceId* instance) { return *instance == process.device; })) {
      found.push_back(&process);
    }
  }
  return found;
}

std::vector<const Claim*> claims_on(const DeviceId& device, const Snapshot& snapshot) {
  std::vector<const Claim*> found;
  for (const Claim& claim : snapshot.claims) {
    const bool names_it = std::any_of(claim.devices.begin(), claim.devices.end(),
                                      [&](const ClaimedDevice& c) { return c.device == device; });
    if (names_it) found.push_back(&claim);
  }
  return found;
}

const Claim* claim_of(pid_t pid, const Snapshot& snapshot) {
  const HostProcess* process = find_process(pid, snapshot);
  for (const Claim& claim : snapshot.claims) {
    if (pid > 0 && claim.job && claim.job->pid == pid) return &claim;
    if (claim.keeper.pid <= 0) continue;  // the lease does not say
    if (claim.keeper.pid == pid) return &claim;
    if (process == nullptr) continue;
    const auto& parents = process->ancestors;
    if (std::find(parents.begin(), parents.end(), claim.keeper.pid) != parents.end()) return &claim;
  }
  return nullptr;
}

bool only_draws(const GpuProcess& process) { return process.use == GpuUse::graphics; }

std::vector<std::string> users_of(const Device& device, const Snapshot& snapshot) {
  std::vector<std::string> users;
  for (const Claim* claim : claims_on(device.id, snapshot)) users.push_back(claim->user);
  for (const GpuProcess* use : processes_on(device.id, snapshot)) {
    const HostProcess* process = find_process(use->pid, snapshot);
    if (process != nullptr && process->user.get()) users.push_back(*process->user.get());
  }
  std::sort(users.begin(), users.end());
  users.erase(std::unique(users.begin(), users.end()), users.end());
  return users;
}

Reading<std::string> enclosure_title(const HostProcess& process) {
  if (!process.enclosure || !process.enclosure->name.get()) return process.container;
  return process.enclosure->runtime + " " + *process.enclosure->name.get();
}

Reading<Bytes> unexplained_memory(const Device& device, const Snapshot& snapshot) {
  return unexplained_by(device, processes_on(device.id, snapshot));
}
Reading<Bytes> unexplained_memory(const Device& device, const SnapshotIndex& index) {
  return unexplained_by(device, index.processes_on(device.id));
}

}  // namespace berth
