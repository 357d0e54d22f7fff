#include "diagnose/postmortem/sibling_ranks.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/text.h"

namespace berth {

namespace {

std::optional<std::string> variable(const Manifest& manifest, std::string_view name) {
  for (const auto& [known, value] : manifest.variables) {
    if (known == name && !value.empty()) return value;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> count_variable(const Manifest& manifest, std::string_view name) {
  const auto value = variable(manifest, name);
  return value ? parse_unsigned(*value) : std::nullopt;
}

/// A name by which each machine calls itself is another machine's too.
bool is_this_machine(std::string_view address) {
  return address == "localhost" || address.starts_with("127.") || address == "::1" ||
         address == "0.0.0.0";
}

std::optional<RankPlace> checked(std::string job, std::optional<std::uint64_t> rank,
                                 std::optional<std::uint64_t> ranks) {
  if (!rank || !ranks || *ranks < 2 || *rank >= *ranks) return std::nullopt;
  return RankPlace{std::move(job), *rank, *ranks};
}

bool overlap(const RunRecord& a, const RunRecord& b) {
  const auto ended_before = [](const RunRecord& one, const RunRecord& other) {
    return one.end && one.end->at.unix_ms <= other.manifest.started.unix_ms;
  };
  return !ended_before(a, b) && !ended_before(b, a);
}

}  // namespace

std::optional<RankPlace> rank_place_of(const Manifest& manifest) {
  const auto address = variable(manifest, "MASTER_ADDR");
  const auto port = variable(manifest, "MASTER_PORT");
  if (address && port) {
    const std::string machine = is_this_machine(*address) ? " " + manifest.machine_id : "";
    auto place = checked(*address + ":" + *port + machine, count_variable(manifest, "RANK"),
                         count_variable(manifest, "WORLD_SIZE"));
    if (place) return place;
  }
  const auto job = variable(manifest, "SLURM_JOB_ID");
  const auto step = variable(manifest, "SLURM_STEP_ID");
  if (!job || !step) return std::nullopt;
  return checked("slurm " + *job + "." + *step, count_variable(manifest, "SLURM_PROCID"),
                 count_variable(manifest, "SLURM_NTASKS"));
}

std::vector<SiblingRank> siblings_of(const RunRecord& run, const std::vector<RunRecord>& runs) {
  const auto own = rank_place_of(run.manifest);
  if (!own) return {};
  std::vector<SiblingRank> siblings;
  std::set<std::uint64_t> ranks = {own->rank};
  for (const RunRecord& other : runs) {
    if (other.manifest.id == run.manifest.id || other.manifest.uid != run.manifest.uid) continue;
    const auto place = rank_place_of(other.manifest);
    if (!place || place->job != own->job || place->ranks != own->ranks || !overlap(run, other)) {
      continue;
    }
    if (!ranks.insert(place->rank).second) return {};
    siblings.push_back({place->rank, other});
  }
  return siblings;
}

namespace {

bool has(std::string_view line, std::string_view words) {
  return line.find(words) != std::string_view::npos;
}

/// "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=469508, OpType=…".
void read_timeout(std::string_view line, RankStory& story) {
  if (!has(line, "Watchdog caught collective operation timeout")) return;
  const auto rank = number_following(line, "[Rank ");
  const auto sequence = number_following(line, "SeqNum=");
  constexpr std::size_t most_ranks = 100'000;
  if (!rank || !sequence || story.waiting.size() >= most_ranks) return;
  // A rank reports the operation that it waits in first of all.
  const auto [known, is_new] = story.waiting.emplace(*rank, *sequence);
  if (!is_new) known->second = std::min(known->second, *sequence);
  const std::size_t type = line.find("OpType=");
  if (story.operation.empty() && type != std::string_view::npos) {
    const std::string_view name = line.substr(type + 7, 40);
    story.operation = printable(name.substr(0, name.find_first_of(",) ")));
  }
}

struct RootCause {
  std::optional<std::uint64_t> rank;
  bool aborted = false;  // by its own watchdog: it is one of those that waited
};

/// torchrun's summary: "Root Cause (first observed failure):", then "rank : 3 (local_rank: 3)" and
/// "exitcode : -6 (pid: 1)".
RootCause root_cause(const LogText& log) {
  constexpr std::size_t longest = 12;
  RootCause cause;
  for (std::size_t i = 0; i < log.size(); ++i) {
    if (!has(log.line(i), "Root Cause (first observed failure)")) continue;
    cause = {};
    for (std::size_t at = i + 1; at < std::min(i + longest, log.size()); ++at) {
      const std::string_view line = trimmed(without_prefix(log.line(at)));
      if (line.starts_with("rank ")) cause.rank = number_following(line, "rank ");
      if (line.starts_with("exitcode") && has(line, ": -6 ")) cause.aborted = true;
    }
  }
  return cause;
}

/// The one rank that waits in an earlier operation than all others.
std::optional<std::uint64_t> rank_behind(const RankStory& story) {
  if (story.waiting.size() < 2) return std::nullopt;
  const auto least =
      std::ranges::min_element(story.waiting, {}, [](const auto& one) { return one.second; });
  const auto equals = std::ranges::count_if(
      story.waiting, [&](const auto& one) { return one.second == least->second; });
  if (equals != 1) return std::nullopt;
  return least->first;
}

/// The rank whose line this is: "[rank3]: …", "[rank1]:[E504 …"; nothing: it does not say.
std::optional<std::uint64_t> rank_of_line(std::string_view line) {
  return line.starts_with("[rank") ? number_following(line.substr(0, 24), "[rank") : std::nullopt;
}

}  // namespace

bool is_own_error(std::string_view line) {
  if (!is_error_line(line)) return false;
  return !has(line, "atchdog") && !has(line, "DistBackendError") && !has(line, "NCCL") &&
         !has(line, "Connection closed by peer") && !has(line, "Connection reset by peer") &&
         !has(line, "ChildFailedError") && !has(line, "ProcessGroup") && !has(line, "what():") &&
         !has(line, "terminate called") && !has(line, "gloo/");
}

RankStory rank_story(const LogText& log) {
  RankStory story;
  for (std::size_t i = 0; i < log.size(); ++i) {
    const std::string_view line = log.line(i);
    read_timeout(line, story);
    const auto rank = rank_of_line(line);
    if (!story.first && rank && is_own_error(line)) {
      story.first = rank;
      story.how = RankStory::How::own_error;
      story.shown_by = std::string(line);
    }
  }
  if (story.first) return story;
  if (const auto behind = rank_behind(story)) {
    story.first = behind;
    story.how = RankStory::How::behind;
    return story;
  }
  const RootCause cause = root_cause(log);
  if (cause.rank && !cause.aborted) {
    story.first = cause.rank;
    story.how = RankStory::How::torchrun;
  }
  return story;
}

}  // namespace berth
