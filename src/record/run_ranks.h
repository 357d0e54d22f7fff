#pragma once
// The ranks of a run that berth started as several processes (`--ddp`). The record's ranks.json has
// them: their launcher writes it, everybody else reads.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/process.h"
#include "base/result.h"
#include "record/run_record.h"

namespace berth {

struct Rank {
  int rank = 0;
  std::optional<ProcessId> process;  // nothing: it was not started
  /// The machine it is on, another than the run's; its process is not known then. Empty: the run's.
  std::string node;
  std::string cpus;               // "0-3": what it was kept on; empty: any
  std::optional<WallTime> ended;  // nothing: it lives, or its launcher was killed
  /// What it ended with; says nothing before.
  Exit exit;
  friend bool operator==(const Rank&, const Rank&) = default;
};

struct RunRanks {
  std::string node;  // with several: which wrote it
  std::string master_address;
  int master_port = 0;
  /// What each had set beside its place among the others.
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<Rank> ranks;
  /// Ended first, and badly, before anybody asked for the end; the others were ended for it.
  std::optional<int> failed_first;
  friend bool operator==(const RunRanks&, const RunRanks&) = default;
};

void walk(class Archive& archive, RunRanks& ranks);
[[nodiscard]] std::string run_ranks_to_json(const RunRanks& ranks);
[[nodiscard]] Result<RunRanks> run_ranks_from_json(std::string_view text);
/// From a run's record. Nothing: it has none.
[[nodiscard]] std::optional<RunRanks> run_ranks_of(const RunRecord& run);

/// The record with that rank's output in the place of the run's own.
[[nodiscard]] RunRecord with_log_of_rank(RunRecord run, int rank);

/// The file that another node's ranks have in the record's directory, in its own numbers from 0.
/// The first node's launcher reads it, and puts it into the run's own.
[[nodiscard]] std::string ranks_file_of_node(int node);
/// Signals that the first node's launcher wants the other nodes' ranks to get: a number a line.
inline constexpr std::string_view signals_to_nodes = "ranks.signals";

/// The file in the record's directory that has all the output of one.
[[nodiscard]] std::string rank_log_name(int rank);

}  // namespace berth
