#pragma once
// What `berth submit` and `berth run --on slurm` share: Slurm's options, and handing a job to it.

#include <string>
#include <vector>

#include "app/context.h"
#include "app/options.h"
#include "app/run_options.h"
#include "run/slurm/submit.h"
#include "view/queue_text.h"

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
/// Hands the job to Slurm. With UntilItEnds::yes it stays, shows the job's output and ends as the
/// job does. Else it prints the run's id. The exit code.
[[nodiscard]] int submit_job(Context& context, const RunFlags& flags, const RunOptions& options,
                             const SbatchSettings& settings, UntilItEnds until);

/// What is asked of Slurm, with this environment.
[[nodiscard]] SlurmClient slurm_client(Context& context);

/// Slurm's words on each run that it knows, if the record does not tell more. Closes the record of
/// a run whose job is over.
[[nodiscard]] std::vector<SaidOfRun> said_by_slurm(Context& context,
                                                   const std::vector<RunRecord>& runs);

}  // namespace berth
