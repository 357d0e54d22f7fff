#include "record/run_ranks.h"

#include <fmt/format.h>

#include "base/archive.h"
#include "base/owned_file.h"
#include "record/record_document.h"
#include "record/record_writer.h"
#include "snapshot/walk.h"

namespace berth {

namespace {
constexpr std::string_view ranks_format = "berth-run-ranks";
constexpr int ranks_version = 1;
constexpr std::size_t most_ranks = 4096;
}  // namespace

static void walk(Archive& archive, Rank& rank) {
  std::optional<int> code;
  std::optional<int> signal;
  if (rank.ended && rank.exit.signal == 0) code = rank.exit.code;
  if (rank.ended && rank.exit.signal != 0) signal = rank.exit.signal;
  archive.member("rank", rank.rank, Form::required);
  archive.member("process", rank.process);
  archive.member("node", rank.node, Form::nullable);
  archive.member("cpus", rank.cpus, Form::nullable);
  archive.member("ended_unix_ms", rank.ended);
  archive.member("exit_code", code);
  archive.member("signal", signal);
  rank.exit.code = code.value_or(0);
  rank.exit.signal = signal.value_or(0);
}

void walk(Archive& archive, RunRanks& ranks) {
  archive.member("node", ranks.node, Form::nullable);
  archive.member("master_address", ranks.master_address);
  archive.member("master_port", ranks.master_port);
  archive.member("variables", ranks.variables);
  archive.member("ranks", ranks.ranks, most_ranks);
  archive.member("failed_first", ranks.failed_first);
}

std::string run_ranks_to_json(const RunRanks& ranks) {
  return document(ranks_format, ranks_version, ranks, walk);
}

Result<RunRanks> run_ranks_from_json(std::string_view text) {
  auto read = read_document<RunRanks>(text, ranks_format, ranks_version, walk);
  if (!read) return read;
  RunRanks& ranks = *read;
  for (std::size_t i = 0; i < ranks.ranks.size(); ++i) {
    // Each stands in its place: its number becomes a file's name.
    if (ranks.ranks[i].rank != static_cast<int>(i)) {
      return fail(ErrorCode::invalid, "ranks out of order");
    }
  }
  const int first = ranks.failed_first.value_or(0);
  if (first < 0 || (ranks.failed_first && static_cast<std::size_t>(first) >= ranks.ranks.size())) {
    ranks.failed_first.reset();
  }
  return read;
}

std::optional<RunRanks> run_ranks_of(const RunRecord& run) {
  if (run.directory.empty()) return std::nullopt;
  const auto text = read_file_of(run.owner, run.directory, std::string(record_file::ranks));
  auto ranks = text ? run_ranks_from_json(*text) : Result<RunRanks>(std::unexpected(text.error()));
  return ranks ? std::optional(*std::move(ranks)) : std::nullopt;
}

RunRecord with_log_of_rank(RunRecord run, int rank) {
  run.manifest.log = run.directory + "/" + rank_log_name(rank);
  run.manifest.log_from.reset();
  return run;
}

std::string ranks_file_of_node(int node) { return fmt::format("ranks.node-{}.json", node); }

std::string rank_log_name(int rank) { return fmt::format("rank-{}.log", rank); }

}  // namespace berth
