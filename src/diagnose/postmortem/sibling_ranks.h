#pragma once
// The ranks of one distributed job that each were a run of their own (`srun berth run …`, a
// torchrun per machine): found by what their launcher told them, which the records keep.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

}  // namespace berth
