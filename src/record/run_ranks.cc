#include "record/run_ranks.h"

#include <fmt/format.h>

#include "base/archive.h"
#include "base/json_archive.h"
#include "base/owned_file.h"
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
  RunRanks copy = ranks;
  return write_json(JsonLayout::narrow,
                    [&](Archive& archive) {
                      archive.derived("format", ranks_format);
                      archive.derived("version", ranks_version);
                      walk(archive, copy);
                    }) +
         "\n";
}

Result<RunRanks> run_ranks_from_json(std::string_view text) {
  RunRanks ranks;
  const auto read = read_json(text, [&](Archive& archive) {
    std::string format;
    int version = 0;
    archive.member("format", format, Form::required);
    archive.member("version", version, Form::required);
    if (format != ranks_format) archive.mistake(sentence("not the ranks of a run"));
    if (archive.is_good() && version <= ranks_version) walk(archive, ranks);
    for (std::size_t i = 0; i < ranks.ranks.size(); ++i) {
      // Each stands in its place: its number becomes a file's name.
      if (ranks.ranks[i].rank != static_cast<int>(i))
        archive.mistake(sentence("ranks out of order"));
    }
  });
  if (!read) return std::unexpected(read.error());
  const int first = ranks.failed_first.value_or(0);
  if (first < 0 || (ranks.failed_first && static_cast<std::size_t>(first) >= ranks.ranks.size())) {
    ranks.failed_first.reset();
  }
  return ranks;
}

std::optional<RunRanks> run_ranks_of(const RunRecord& run) {
  if (run.directory.empty()) return std::nullopt;
  const auto text = read_file_of(run.owner, run.directory, std::string(record_file::ranks));
  auto ranks = text ? run_ranks_from_json(*text) : Result<RunRanks>(std::unexpected(text.error()));
  return ranks ? std::optional(*std::move(ranks)) : std::nullopt;
}

RunRecord with_log_of_rank(RunRecord run, int rank) {
  run.manifest.log = run.directory + "/" + rank_log_name(rank);
  return run;
}

std::string ranks_file_of_node(int node) { return fmt::format("ranks.node-{}.json", node); }

std::string rank_log_name(int rank) { return fmt::format("rank-{}.log", rank); }

}  // namespace berth
