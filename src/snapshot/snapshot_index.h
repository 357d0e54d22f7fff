#pragma once
// SnapshotIndex: the questions of snapshot/questions.h, with the same answers, for callers who ask
// once per process. A server with 64 devices and 1000 processes is drawn in milliseconds instead of
// seconds. A value that points into its snapshot, which must outlive it unchanged.

#include <unordered_map>
#include <vector>

#include "snapshot/process_claims.h"
#include "snapshot/questions.h"
#include "snapshot/snapshot.h"

namespace berth {

class SnapshotIndex {
 public:
  explicit SnapshotIndex(const Snapshot& snapshot);
  explicit SnapshotIndex(Snapshot&&) = delete;  // nothing would be left to point to

  [[nodiscard]] const Snapshot& snapshot() const { return *snapshot_; }

  [[nodiscard]] const Device* device(const DeviceId& id) const;
  [[nodiscard]] const HostProcess* process(pid_t pid) const { return runs_.process(pid); }
  /// Processes on the device itself, not on its MIG instances.
  [[nodiscard]] const std::vector<const GpuProcess*>& processes_itself(const DeviceId& id) const;
  [[nodiscard]] const std::vector<const GpuProcess*>& processes_on(const DeviceId& id) const;
  [[nodiscard]] const std::vector<const Claim*>& claims_on(const DeviceId& id) const;
  [[nodiscard]] const Claim* claim_of(pid_t pid) const { return runs_.of(pid); }

 private:
  void learn_uses();

  const Snapshot* snapshot_;
  ProcessClaims runs_;
  std::unordered_map<DeviceId, const Device*> devices_;
  std::unordered_map<DeviceId, std::vector<const GpuProcess*>> uses_itself_;
  std::unordered_map<DeviceId, std::vector<const GpuProcess*>> uses_;
  std::unordered_map<DeviceId, std::vector<const Claim*>> claims_;
};

[[nodiscard]] DeviceState state_of(const Device& device, const SnapshotIndex& index);
[[nodiscard]] Reading<Bytes> unexplained_memory(const Device& device, const SnapshotIndex& index);
/// Empty where the free memory or the users' parts cannot be told. A device that one user has whole
/// is no share.
[[nodiscard]] PromisesTaken promises_taken(const Device& device, const SnapshotIndex& index);

}  // namespace berth
