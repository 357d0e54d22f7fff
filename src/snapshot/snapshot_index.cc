#include "snapshot/snapshot_index.h"

#include <algorithm>

namespace berth {

namespace {

template <class Map, class Key>
auto pointer_in(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : found->second;
}

template <class T>
const std::vector<T>& list_in(const std::unordered_map<DeviceId, std::vector<T>>& map,
                              const DeviceId& id) {
  static const std::vector<T> none;
  const auto found = map.find(id);
  return found == map.end() ? none : found->second;
}

}  // namespace

// emplace() keeps what is there: of two with one key the first counts, as in questions.cc.
SnapshotIndex::SnapshotIndex(const Snapshot& snapshot) : snapshot_(&snapshot) {
  devices_.reserve(snapshot.devices.size());
  for (const Device& device : snapshot.devices) devices_.emplace(device.id, &device);
  learn_processes();
  learn_claims();
}

void SnapshotIndex::learn_processes() {
  processes_.reserve(snapshot_->processes.size());
  for (const HostProcess& process : snapshot_->processes) {
    processes_.emplace(process.id.pid, &process);
  }
  using Uses = std::vector<const GpuProcess*>;
  const GpuProcess* before = nullptr;  // a device's stand together: its lists are looked for once
  Uses* itself = nullptr;
  Uses* on_it = nullptr;
  Uses* on_its_card = nullptr;
  for (const GpuProcess& use : snapshot_->gpu_processes) {
    if (before == nullptr || before->device != use.device) {
      itself = &uses_itself_[use.device];
      on_it = &uses_[use.device];
      const Device* place = device(use.device);
      const bool is_part = place != nullptr && place->parent && *place->parent != use.device;
      on_its_card = is_part ? &uses_[*place->parent] : nullptr;
    }
    before = &use;
    itself->push_back(&use);
    on_it->push_back(&use);
    if (on_its_card != nullptr) on_its_card->push_back(&use);
  }
}

void SnapshotIndex::learn_claims() {
  for (std::size_t at = 0; at < snapshot_->claims.size(); ++at) {
    const Claim& claim = snapshot_->claims[at];
    if (claim.keeper.pid > 0) by_keeper_.emplace(claim.keeper.pid, at);
    if (claim.job) by_job_.emplace(claim.job->pid, at);
    if (!claim.container.empty()) in_containers_.push_back(at);
    for (const ClaimedDevice& part : claim.devices) {
      auto& on_it = claims_[part.device];
      if (on_it.empty() || on_it.back() != &claim) on_it.push_back(&claim);
    }
  }
}

const Device* SnapshotIndex::device(const DeviceId& id) const { return pointer_in(devices_, id); }
const HostProcess* SnapshotIndex::process(pid_t pid) const { return pointer_in(processes_, pid); }

const std::vector<const GpuProcess*>& SnapshotIndex::processes_itself(const DeviceId& id) const {
  return list_in(uses_itself_, id);
}
const std::vector<const GpuProcess*>& SnapshotIndex::processes_on(const DeviceId& id) const {
  return list_in(uses_, id);
}
const std::vector<const Claim*>& SnapshotIndex::claims_on(const DeviceId& id) const {
  return list_in(claims_, id);
}

const Claim* SnapshotIndex::claim_of(pid_t pid) const {
  const HostProcess* known = process(pid);
  if (known != nullptr && is_elsewhere(*known, snapshot_->host)) return nullptr;
  std::size_t first = snapshot_->claims.size();
  const auto keep_first = [&](const std::unordered_map<pid_t, std::size_t>& by, pid_t one) {
    const auto found = by.find(one);
    if (found != by.end()) first = std::min(first, found->second);
  };
  if (pid > 0) keep_first(by_job_, pid);
  for (const std::size_t at : in_containers_) {
    if (known != nullptr && is_in_container_of(snapshot_->claims[at], *known)) {
      first = std::min(first, at);
    }
  }
  keep_first(by_keeper_, pid);
  if (known != nullptr) {
    for (const pid_t parent : known->ancestors) keep_first(by_keeper_, parent);
  }
  return first == snapshot_->claims.size() ? nullptr : &snapshot_->claims[first];
}

}  // namespace berth
