#pragma once
// SnapshotIndex: the questions of snapshot/questions.h, with the same answers, for callers who ask
// once per process. A server with 64 devices and 1000 processes is drawn in milliseconds instead of
// seconds. A value that points into its snapshot, which must outlive it unchanged.

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "snapshot/questions.h"
#include "snapshot/snapshot.h"

namespace berth {

class SnapshotIndex {
 public:
  explicit SnapshotIndex(const Snapshot& snapshot);
  explicit SnapshotIndex(Snapshot&&) = delete;  // nothing would be left to point to

  [[nodiscard]] const Snapshot& snapshot() const { return *snapshot_; }

  [[nodiscard]] const Device* device(const DeviceId& id) const;
  [[nodiscard]] const HostProcess* process(pid_t pid) const;
  /// Processes on the device itself, not on its MIG instances.
  [[nodiscard]] const std::vector<const GpuProcess*>& processes_itself(const DeviceId& id) const;
  [[nodiscard]] const std::vector<const GpuProcess*>& processes_on(const DeviceId& id) const;
  [[nodiscard]] const std::vector<const Claim*>& claims_on(const DeviceId& id) const;
  [[nodiscard]] const Claim* claim_of(pid_t pid) const;

 private:
  void learn_processes();
  void learn_claims();

  const Snapshot* snapshot_;
  std::unordered_map<DeviceId, const Device*> devices_;
  std::unordered_map<pid_t, const HostProcess*> processes_;
  std::unordered_map<DeviceId, std::vector<const GpuProcess*>> uses_itself_;
  std::unordered_map<DeviceId, std::vector<const GpuProcess*>> uses_;
  std::unordered_map<DeviceId, std::vector<const Claim*>> claims_;
  // Position in Snapshot::claims of the first claim with this keeper or job.
  std::unordered_map<pid_t, std::size_t> by_keeper_;
  std::unordered_map<pid_t, std::size_t> by_job_;
  std::vector<std::size_t> in_containers_;  // claims whose jobs are in one
};

[[nodiscard]] DeviceState state_of(const Device& device, const SnapshotIndex& index);
[[nodiscard]] Reading<Bytes> unexplained_memory(const Device& device, const SnapshotIndex& index);
[[nodiscard]] PromisesTaken promises_taken(const Device& device, const SnapshotIndex& index);

}  // namespace berth
