#pragma once
// Ranks of a run in words.

#include <string>

#include "record/run_ranks.h"
#include "record/run_record.h"
#include "run/ranks/rank_launcher.h"
#include "view/style.h"

namespace berth {

[[nodiscard]] std::string sentence_of(const RankNews& news);

/// How one went: "ended with 7, before the others".
[[nodiscard]] std::string end_text(const Rank& rank, const RunRanks& all, bool runs);

/// A heading, and a line for each: its device, process, CPUs and end. Empty: the run has none.
[[nodiscard]] std::string render_ranks(const RunRecord& run, const Style& style);

}  // namespace berth
