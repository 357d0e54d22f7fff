#pragma once
// Hands a job to Slurm. Slurm chooses node and cards, and starts `berth run` itself on the node. So
// record, log, samples, limits and stop are as on one machine.

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "place/job_spec.h"
#include "record/record_writer.h"
#include "record/run_slurm.h"
#include "run/run.h"
#include "run/slurm/queue.h"

namespace berth {

/// Settings for sbatch beyond the job itself; empty: none.
struct SbatchSettings {
  std::string gpu_type;
  std::string partition;
  std::string account;
  std::string qos;
  std::string constraint;
  std::string array;
  std::vector<std::string> options;  // passed on as they are
};

/// sbatch's options for the job. invalid: what Slurm decides itself, or berth cannot say to it.
[[nodiscard]] Result<std::vector<std::string>> sbatch_options(const JobSpec& job,
                                                              const SbatchSettings& settings);

/// The batch script: `program` run with these words, which begin with "run", as run `id`.
[[nodiscard]] std::string batch_script(const std::string& program,
                                       const std::vector<std::string>& words,
                                       const std::string& id);

/// By this variable the batch script says which run it is.
inline constexpr std::string_view submitted_run_variable = "BERTH_SUBMITTED";

struct Submission {
  const RunOptions& options;
  const SbatchSettings& settings;
  std::string program;             // where berth is
  std::vector<std::string> words;  // "run -n 2 -- python train.py"
};
struct Submitted {
  std::string id;  // of the run
  std::string directory;
  RunSlurm slurm;
};
/// Makes the record and asks sbatch. An error: nothing is left of it. unsupported: Slurm can never
/// give what is asked for; io: it does not answer, or refuses for another reason.
[[nodiscard]] Result<Submitted> submit_to_slurm(const Submission& submission,
                                                const RunServices& services);

/// In the batch step: the record that was made when it was submitted, which the manifest then
/// continues. After a requeue a new one, again after the first; of an array one for each task.
/// `record` stays empty where nobody submitted this, or it is a run inside such a job.
[[nodiscard]] Result<void> take_over_submitted(const RunOptions& options, Manifest& manifest,
                                               std::optional<RecordWriter>& record, Clock& clock);

}  // namespace berth
