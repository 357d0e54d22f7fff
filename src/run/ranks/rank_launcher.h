#pragma once
// The first process of a job that is several ranks (`--ddp`). It starts them, passes on what they
// print, and ends with them. For the keeper it is the job. So lease, stop, time limit and record
// are as for any job.
//
// Each rank is a process group: every signal to the job is handed to each of them once. Each rank
// writes into a file of the record. This process reads that and shows it line by line. So no rank
// waits for a slow reader, and nothing is lost if this process ends. If it is killed, the kernel
// kills the ranks (PR_SET_PDEATHSIG). Without that, ranks that wait for a dead one would never end.

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/process.h"
#include "base/result.h"
#include "record/run_ranks.h"
#include "run/ranks/rank_words.h"

namespace berth {

/// One has failed, and the others are ended for it.
struct RankFailed {
  Rank rank;
  std::string log;  // empty: there is none
};
/// Another node has ended badly, and no rank of it says why: berth could not start there.
struct RankNodeFailed {
  int node = 0;
  Exit exit;
};
/// The process that starts the ranks of a node has ended badly. It names the rank itself.
struct TorchrunFailed {
  int node = 0;
  Exit exit;
};
/// Some did not end by TERM within the grace.
struct RanksKilled {
  std::vector<int> ranks;  // empty: torchrun
};
/// The table of ranks cannot be written, and what happens to them goes on unseen.
struct RanksUnrecorded {
  Sentence why;
};
using RankNews =
    std::variant<RankFailed, RankNodeFailed, TorchrunFailed, RanksKilled, RanksUnrecorded>;

/// The end of the first rank that failed; 0: all ended well. busy: the port that the caller chose
/// by MASTER_PORT is taken. `print` is called for whole lines, with the rank in front.
[[nodiscard]] Result<Exit> run_ranks(const RankPlan& plan, const std::vector<std::string>& command,
                                     const std::vector<std::string>& environment, Clock& clock,
                                     const std::function<void(const RankNews&)>& tell);

}  // namespace berth
