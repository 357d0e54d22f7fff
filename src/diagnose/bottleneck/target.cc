#include "diagnose/bottleneck/target.h"

#include <algorithm>

#include "base/process_stat.h"
#include "place/request.h"
#include "snapshot/device_kind.h"
#include "snapshot/process_claims.h"
#include "snapshot/questions.h"

namespace berth::bottleneck {

namespace {

std::string subject_of(const Device& device) {
  return device.index ? "GPU " + std::to_string(*device.index) : "GPU " + device.id.text();
}

/// The process that has most of the device's memory; null: nobody computes on it.
const GpuProcess* chief_of(const Device& device, const Snapshot& snapshot) {
  const GpuProcess* chief = nullptr;
  for (const GpuProcess* process : processes_on(device.id, snapshot)) {
    if (is_background(*process)) continue;
    const auto memory = [](const GpuProcess& one) { return one.memory.get().value_or(Bytes{0}); };
    if (chief == nullptr || memory(*process) > memory(*chief)) chief = process;
  }
  return chief;
}

/// The chief, and processes on the device that seem to be of the same job. These are its ancestors
/// there, and children of the same parent (Ray's actors, an engine beside its server, MPS).
std::vector<pid_t> family_of(const GpuProcess& chief, const Device& device,
                             const Snapshot& snapshot) {
  std::vector<pid_t> family = {chief.pid};
  const HostProcess* own = find_process(chief.pid, snapshot);
  if (own == nullptr || own->ancestors.empty()) return family;
  for (const GpuProcess* process : processes_on(device.id, snapshot)) {
    const HostProcess* other = find_process(process->pid, snapshot);
    if (process->pid == chief.pid || is_background(*process) || other == nullptr) continue;
    const bool is_ancestor =
        std::ranges::find(own->ancestors, process->pid) != own->ancestors.end();
    constexpr pid_t init = 1;
    const bool is_sibling = !other->ancestors.empty() && own->ancestors.front() != init &&
                            other->ancestors.front() == own->ancestors.front() &&
                            other->uid.get() && own->uid.get() &&
                            *other->uid.get() == *own->uid.get();
    if (is_ancestor || is_sibling) family.push_back(process->pid);
  }
  return family;
}

/// The devices that processes of a tree are on.
std::vector<DeviceId> devices_of(pid_t root, const Snapshot& snapshot) {
  std::vector<DeviceId> devices;
  for (const Device& device : snapshot.devices) {
    const bool is_on = std::ranges::any_of(snapshot.gpu_processes, [&](const GpuProcess& one) {
      if (one.device != device.id) return false;
      if (one.pid == root) return true;
      const HostProcess* process = find_process(one.pid, snapshot);
      return process != nullptr &&
             std::ranges::find(process->ancestors, root) != process->ancestors.end();
    });
    if (is_on) devices.push_back(device.id);
  }
  return devices;
}

}  // namespace

Target device_target(const Device& device, const Snapshot& snapshot) {
  Target target{.subject = subject_of(device), .devices = {device.id}};
  const auto claims = claims_on(device.id, snapshot);
  const GpuProcess* chief = chief_of(device, snapshot);
  const Claim* claim = chief != nullptr ? ProcessClaims(snapshot).of(chief->pid) : nullptr;
  if (claim == nullptr && !claims.empty()) claim = claims.front();
  if (claim != nullptr && claim->keeper) {
    target.roots = {claim->keeper->pid};
    target.keeper = claim->keeper->pid;
    target.run = claim->run;
  } else if (chief != nullptr) {
    target.roots = family_of(*chief, device, snapshot);
  }
  return target;
}

std::vector<Target> named_targets(std::string_view word, const Snapshot& snapshot) {
  std::vector<Target> targets;
  const auto patterns = parse_patterns(word);
  if (!patterns) return targets;
  for (const Device& device : snapshot.devices) {
    const bool is_named = std::ranges::any_of(
        *patterns, [&](const DevicePattern& pattern) { return matches(pattern, device); });
    if (is_named && is_supported(device)) targets.push_back(device_target(device, snapshot));
  }
  return targets;
}

std::vector<Target> busy_targets(const Snapshot& snapshot) {
  std::vector<Target> targets;
  for (const Device& device : snapshot.devices) {
    if (!is_supported(device)) continue;
    const DeviceState state = state_of(device, snapshot);
    const bool is_taken =
        state == DeviceState::busy || state == DeviceState::held || state == DeviceState::leased;
    if (is_taken) targets.push_back(device_target(device, snapshot));
  }
  return targets;
}

Result<Target> process_target(pid_t pid, const Snapshot& snapshot, const std::string& proc) {
  const auto stat = read_process_stat(pid, proc);
  if (!stat) {
    return fail(ErrorCode::not_found,
                "there is no process {} that can be seen here, and no GPU of that number. `berth "
                "ps` lists what is on the GPUs",
                pid);
  }
  Target target{.subject = "process " + std::to_string(pid), .roots = {pid}};
  target.ends_with_job = true;
  // A worker is explained by the job that it works for: the nearest parent that is on a GPU.
  std::vector<pid_t> line = ancestors_of(pid, proc);
  line.insert(line.begin(), pid);
  const auto on_a_gpu = std::ranges::find_if(line, [&](pid_t one) {
    const auto is_it = [&](const GpuProcess& use) { return use.pid == one; };
    return one > 1 && std::ranges::any_of(snapshot.gpu_processes, is_it);
  });
  if (on_a_gpu != line.end()) target.roots = {*on_a_gpu};
  target.devices = devices_of(target.roots.front(), snapshot);
  const Claim* claim = ProcessClaims(snapshot).of(target.roots.front());
  if (claim != nullptr) target.run = claim->run;
  if (claim != nullptr && target.devices.empty()) {
    for (const ClaimedDevice& one : claim->devices) target.devices.push_back(one.device);
  }
  return target;
}

Target run_target(const RunRecord& run) {
  Target target{.subject = "run " + run.manifest.id,
                .roots = {run.manifest.keeper.pid},
                .keeper = run.manifest.keeper.pid,
                .run = run.manifest.id,
                .ends_with_job = true};
  for (const Device& device : run.manifest.given.devices) target.devices.push_back(device.id);
  return target;
}

}  // namespace berth::bottleneck
