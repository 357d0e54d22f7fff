#pragma once
// A job that was started by hand, which `berth claim` takes into the ledger: whether it may be
// claimed, whether a lease has it already, and which devices are its own.

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "snapshot/claim.h"
#include "snapshot/snapshot.h"

namespace berth {

/// The job by hand, as a claim that nobody has made yet.
struct JobByHand {
  Claim claim;
  Fd life;  // readable once it has ended
};

/// The process of that number. invalid, not_found, no_permission: why it cannot be claimed.
[[nodiscard]] Result<JobByHand> find_job_by_hand(const std::string& number,
                                                 const std::string& proc = "/proc");

/// The one of these leases that the process is under already; null: none.
[[nodiscard]] const Claim* lease_of(pid_t pid, const std::vector<Claim>& claims,
                                    const std::string& proc = "/proc");

/// The devices that it and what it started compute on, as the driver tells, each once.
[[nodiscard]] std::vector<const Device*> devices_of_job(pid_t job, const Snapshot& snapshot,
                                                        const std::string& proc = "/proc");

}  // namespace berth
