#include "snapshot/snapshot_index.h"

namespace berth {

namespace {

template <class T>
const std::vector<T>& list_in(const std::unordered_map<DeviceId, std::vector<T>>& map,
                              const DeviceId& id) {
  static const std::vector<T> none;
  const auto found = map.find(id);
  return found == map.end() ? none : found->second;
}

}  // namespace

// emplace() keeps what is there: of two with one key the first counts, as in questions.cc.
SnapshotIndex::SnapshotIndex(const Snapshot& snapshot) : snapshot_(&snapshot), runs_(snapshot) {
  devices_.reserve(snapshot.devices.size());
  for (const Device& device : snapshot.devices) devices_.emplace(device.id, &device);
  learn_uses();
  for (const Claim& claim : snapshot.claims) {
    for (const ClaimedDevice& part : claim.devices) {
      auto& on_it = claims_[part.device];
      if (on_it.empty() || on_it.back() != &claim) on_it.push_back(&claim);
    }
  }
}

void SnapshotIndex::learn_uses() {
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

const Device* SnapshotIndex::device(const DeviceId& id) const {
  const auto found = devices_.find(id);
  return found == devices_.end() ? nullptr : found->second;
}

const std::vector<const GpuProcess*>& SnapshotIndex::processes_itself(const DeviceId& id) const {
  return list_in(uses_itself_, id);
}
const std::vector<const GpuProcess*>& SnapshotIndex::processes_on(const DeviceId& id) const {
  return list_in(uses_, id);
}
const std::vector<const Claim*>& SnapshotIndex::claims_on(const DeviceId& id) const {
  return list_in(claims_, id);
}

}  // namespace berth
