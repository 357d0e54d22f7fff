#pragma once
// ProcessClaims: whose run is this process? The one answer, for placement, views, diagnosis and
// runs.
//
// Two questions only look like it. A run's tree (run/tree.h) is what its keeper ends and measures:
// keeper and sampler are not in it, processes on no device are. Whether a number of the driver's
// list is of this machine (probe/procfs) wants the keeper's start time, too.

#include <sys/types.h>

#include <span>
#include <unordered_map>
#include <vector>

#include "snapshot/snapshot.h"

namespace berth {

/// Points to the claims, and to the snapshot's processes and host: they must outlive it unchanged.
class ProcessClaims {
 public:
  explicit ProcessClaims(const Snapshot& snapshot) : ProcessClaims(snapshot, snapshot.claims) {}
  /// Among these claims: of one run, of the ledger as it is now.
  ProcessClaims(const Snapshot& snapshot, std::span<const Claim> claims);
  explicit ProcessClaims(Snapshot&&) = delete;  // nothing would be left to point to

  /// What /proc tells of it; null: nothing.
  [[nodiscard]] const HostProcess* process(pid_t pid) const;

  /// The claim that a process runs under. The process, or else its nearest ancestor that is any
  /// claim's, is its keeper or its job's first process. Where there is none, it is in its job's
  /// container. Null: a stranger to the ledger, one whose keeper and job have ended, a process
  /// elsewhere.
  [[nodiscard]] const Claim* of(pid_t pid) const;
  /// The same among the claims on that device: who has a lease of other devices is a stranger here.
  [[nodiscard]] const Claim* of(pid_t pid, const DeviceId& device) const;

 private:
  struct Head {
    pid_t pid;
    const Claim* claim;
  };
  [[nodiscard]] const Claim* nearest(pid_t pid, const auto& counts) const;

  const Host* host_;
  std::span<const Claim> claims_;
  std::unordered_map<pid_t, const HostProcess*> processes_;
  std::vector<Head> heads_;  // keepers and jobs, by pid
};

}  // namespace berth
