#pragma once
// What an administrator writes into a Slurm site's files for one node, from what berth sees there.
// Pure: nothing is written. The administrator compares and copies.

#include <string>

#include "base/result.h"
#include "snapshot/snapshot.h"

namespace berth {

struct SlurmSite {
  std::string gres;    // lines of gres.conf
  std::string node;    // of slurm.conf
  std::string cgroup;  // of cgroup.conf
  /// A HealthCheckProgram. Slurm gives it SLURMD_NODENAME alone, and ignores its exit code.
  std::string health;
  /// Prolog and Epilog in one. Ends what the job has left in containers, as its user, and waits for
  /// its cards. Cards that stay busy take the node out, never the job.
  std::string around_job;
};

/// `node`: its NodeName. `program`: where berth is on it. unsupported: there is no card that Slurm
/// could be told of.
[[nodiscard]] Result<SlurmSite> slurm_site(const Snapshot& snapshot, const std::string& node,
                                           const std::string& program);

/// All of it, each file below its name, as shown to a person.
[[nodiscard]] std::string slurm_site_text(const SlurmSite& site);

}  // namespace berth
