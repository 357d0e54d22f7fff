#pragma once
// A run's cap before the run starts. It holds what this machine has of each tier, and the variables
// that the job gets for it.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/variables.h"
#include "guard/cap.h"
#include "guard/shim_files.h"
#include "place/job_spec.h"
#include "record/run_record.h"
#include "run/run.h"

namespace berth {

/// What there is of each tier for a job.
struct CapMeans {
  CapFacts facts;
  std::optional<Shim> shim;
  std::string mps_pipes;                            // empty: no server of MPS
  std::map<std::string, Bytes> kernel_limits = {};  // by UUID; empty: they are to be set
  /// What is started elsewhere, unless the kernel holds it; empty: nothing.
  Sentence not_gone_along = {};
};
/// The parts of the job that the watchdog alone holds, or nothing; empty: there are none.
[[nodiscard]] Sentence not_gone_along(const RunCap& cap, const CapMeans& means);
/// For a job that is going to be started.
[[nodiscard]] CapMeans cap_means(const RunOptions& options, const RunServices& services);

/// The tier that is to hold this job. Nothing: it asks for whole devices, or none. unsupported: the
/// one that was asked for cannot be had here.
[[nodiscard]] Result<std::optional<RunCap>> cap_of(const JobSpec& job, const CapFacts& facts);
/// The same for a program that runs already. It can only be watched, and is not ours to end.
[[nodiscard]] Result<std::optional<RunCap>> cap_of_running_program(const JobSpec& job);

/// Makes the tier hold the devices of the manifest, or else the next weaker tier that can. `cap`
/// then says which. Returns the variables for the job's environment, including those for its
/// frameworks. `directory`: of the record; empty: there is none, so there is no shim. unsupported:
/// the tier was asked for by name, and cannot hold them.
[[nodiscard]] Result<std::vector<Variable>> hold(RunCap& cap, CapMeans means,
                                                 const Manifest& manifest,
                                                 const std::string& directory,
                                                 const RunOptions& options,
                                                 const RunServices& services);

}  // namespace berth
