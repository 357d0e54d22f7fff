#pragma once
// What `berth submit` and `berth run --on slurm` share: Slurm's options, and handing a job to it.

#include <string>
#include <vector>

#include "app/context.h"
#include "app/options.h"
#include "app/run_options.h"
#include "run/slurm/submit.h"

namespace berth {

class SlurmFlags {
 public:
  void declare(Options& options);
  [[nodiscard]] const SbatchSettings& settings() const { return settings_; }
  /// The first that was given; empty: none.
  [[nodiscard]] std::string given() const;

 private:
  SbatchSettings settings_;
};

enum class UntilItEnds { no, yes };
/// Hands the job to Slurm: with UntilItEnds::yes stays, shows its output and ends as it does; else
/// prints the run's id. The exit code.
[[nodiscard]] int submit_job(Context& context, const RunFlags& flags, const RunOptions& options,
                             const SbatchSettings& settings, UntilItEnds until);

/// What is asked of Slurm, with this environment.
[[nodiscard]] SlurmClient slurm_client(Context& context);

/// What Slurm says of each of these runs that it has and that no record tells more of; a record
/// whose job is over is closed.
[[nodiscard]] std::vector<std::string> said_by_slurm(Context& context,
                                                     const std::vector<RunRecord>& runs);

}  // namespace berth
