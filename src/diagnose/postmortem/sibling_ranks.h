#pragma once
// The ranks of one distributed job that each were a run of their own (`srun berth run …`, a
// torchrun per machine). The records keep what the launcher told them: that finds them.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/postmortem/log_text.h"
#include "record/run_record.h"

namespace berth {

struct RankPlace {
  std::string job;  // where its ranks meet, or the scheduler's step
  std::uint64_t rank = 0;
  std::uint64_t ranks = 0;  // of the whole job
  friend bool operator==(const RankPlace&, const RankPlace&) = default;
};
/// By MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE, else by Slurm's variables. Nothing: it was
/// told none of them, or is the only rank.
[[nodiscard]] std::optional<RankPlace> rank_place_of(const Manifest& manifest);

struct SiblingRank {
  std::uint64_t rank = 0;
  RunRecord run;
};
/// The other ranks among these runs: the same job and user, at the same time. Empty as well where
/// one rank is there twice: then it is not known which job is which.
[[nodiscard]] std::vector<SiblingRank> siblings_of(const RunRecord& run,
                                                   const std::vector<RunRecord>& runs);

// Which rank of a distributed job stopped first, from what NCCL's watchdog, torchrun and the ranks
// themselves wrote.

struct RankStory {
  /// Ranks that reported a timeout, with the operation they waited in.
  std::map<std::uint64_t, std::uint64_t> waiting;
  std::string operation;  // of the first report: "ALLREDUCE"
  /// How it is known. `own_error` it has an error of its own. `behind` it waits in an earlier
  /// operation than the others. `torchrun` torchrun saw it fail first. `nobody` it cannot be told.
  enum class How { nobody, own_error, behind, torchrun } how = How::nobody;
  std::optional<std::uint64_t> first;
  /// The line that shows it; empty: none does alone.
  std::string shown_by;
};
[[nodiscard]] RankStory rank_story(const LogText& log);

/// An exception that a rank itself raised, not one that tells of waiting or of others.
[[nodiscard]] bool is_own_error(std::string_view line);

}  // namespace berth
