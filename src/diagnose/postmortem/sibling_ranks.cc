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

}  // namespace berth
