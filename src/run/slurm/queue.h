#pragma once
// What Slurm says of a run's job, asked rarely. The job itself writes the run's record, and that
// counts. Only Slurm knows why a job has not begun, or that it never will.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/process.h"
#include "base/result.h"
#include "record/run_record.h"
#include "record/run_slurm.h"
#include "run/run.h"

namespace berth {

/// One line of squeue. It has fixed columns, which all versions print alike. squeue's JSON changed
/// its form three times, and wants a plugin that some sites lack.
struct SlurmJob {
  std::string id;      // "12", "12_3", "12_[4-9]"
  std::string state;   // "PENDING", "COMPLETED"
  std::string reason;  // "Priority"; empty: none
  std::string start;   // "2026-11-26T23:13:18", expected or real; empty: not known
  std::string nodes;
  friend bool operator==(const SlurmJob&, const SlurmJob&) = default;
};
inline constexpr std::string_view squeue_columns = "%i|%T|%S|%N|%r";
[[nodiscard]] std::vector<SlurmJob> parse_squeue(std::string_view text);

/// Whether a job of that state never does anything again.
[[nodiscard]] bool is_over(std::string_view slurm_state);

/// "ExitCode=0:9" in what `scontrol show job -o` prints.
[[nodiscard]] std::optional<Exit> exit_in_scontrol(std::string_view text);

/// Why it has not begun, in plain words, and what to do where one can do something.
[[nodiscard]] Sentence why_it_waits(const SlurmJob& job);

/// What is asked of Slurm, and with which environment.
struct SlurmClient {
  Clock& clock;
  std::vector<std::string> environment;
};

/// What Slurm says of the run now, in words. If Slurm knows that the job is over, and the record
/// has no end, the end is written there. An error: Slurm does not answer.
[[nodiscard]] Result<Sentence> ask_slurm(const RunRecord& run, const RunSlurm& slurm,
                                         const SlurmClient& client);

struct RunOnSlurm {
  RunRecord run;
  RunSlurm slurm;
};
/// Asks for several at once, in their order. The first error is the last that is told. Each cluster
/// is asked once, and again for a job that it did not name.
[[nodiscard]] std::vector<Result<Sentence>> ask_slurm_of(const std::vector<RunOnSlurm>& runs,
                                                         const SlurmClient& client);

/// Ends it: takes it out of Slurm's queue, or has its job told to end, and after `grace` ended.
[[nodiscard]] Result<StopResult> stop_slurm_run(const RunRecord& run, const RunSlurm& slurm,
                                                std::chrono::milliseconds grace,
                                                const SlurmClient& client);

/// For a caller that waits for the run. Asks Slurm after 5 s, then at longer and longer intervals,
/// 60 s at most. Tells each answer once.
class SlurmPolling {
 public:
  SlurmPolling(const RunRecord& run, SlurmClient client,
               std::function<void(const Sentence&)> tell = {});
  void poll();

 private:
  std::string directory_;
  std::optional<RunSlurm> slurm_;
  SlurmClient client_;
  std::function<void(const Sentence&)> tell_;
  Sentence told_;
  Instant next_;
  Duration pause_;
};

}  // namespace berth
