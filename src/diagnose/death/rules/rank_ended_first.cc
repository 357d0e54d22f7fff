// Another rank of the job ended first, by its own record: this one then waited for it in vain.

#include <algorithm>
#include <csignal>

#include "base/text.h"
#include "diagnose/death/rules.h"

namespace berth {

namespace {

/// Ranks that one launcher ends together are this close to each other, and clocks of two machines
/// may differ.
std::int64_t apart_ms(const RunRecord& a, const RunRecord& b) {
  return a.manifest.machine_id == b.manifest.machine_id ? 2'000 : 30'000;
}

bool ended_before(const RunRecord& a, const RunRecord& b) {
  return !b.end || a.end->at.unix_ms + apart_ms(a, b) <= b.end->at.unix_ms;
}

/// The rank that failed before this one and before all that failed besides.
const SiblingRank* first_to_fail(const DeathEvidence& evidence) {
  const SiblingRank* first = nullptr;
  for (const SiblingRank& one : evidence.siblings) {
    // One that was stopped, or whose time was over, failed at nothing.
    if (!has_failed(one.run) || !one.run.end->because.empty()) continue;
    if (first == nullptr || one.run.end->at.unix_ms < first->run.end->at.unix_ms) first = &one;
  }
  if (first == nullptr || !ended_before(first->run, evidence.run)) return nullptr;
  const bool is_alone = std::ranges::all_of(evidence.siblings, [&](const SiblingRank& one) {
    return &one == first || !has_failed(one.run) || ended_before(first->run, one.run);
  });
  return is_alone ? first : nullptr;
}

Sentence how_it_ended(const SiblingRank& sibling, std::int64_t seconds) {
  const int signal = signal_of(sibling.run);
  const std::string id = printable(sibling.run.manifest.id);
  return signal != 0 ? sentence("rank {} (run {}) was ended by {}, {} s before this one",
                                sibling.rank, id, signal_name(signal), seconds)
                     : sentence("rank {} (run {}) ended with exit code {}, {} s before this one",
                                sibling.rank, id, sibling.run.end->exit.code, seconds);
}

bool was_sent_from_outside(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGKILL;
}

}  // namespace

Findings rank_ended_first(const DeathEvidence& evidence) {
  const RunRecord& run = evidence.run;
  if (!has_failed(run) || !run.end->because.empty()) return {};
  const SiblingRank* first = first_to_fail(evidence);
  const auto place = rank_place_of(run.manifest);
  if (first == nullptr || !place) return {};
  const std::int64_t seconds = (run.end->at.unix_ms - first->run.end->at.unix_ms) / 1000;
  Finding finding{
      .rule = "rank_ended_first",
      .severity = Severity::warning,
      .title = sentence("another rank of the job ended first: rank {}", first->rank),
      .evidence = {how_it_ended(*first, seconds)},
      .meaning = sentence("The ranks that are left wait for it in vain, until NCCL's time is over "
                          "or the connection breaks."),
      .steps = {{sentence("see why that one died"),
                 "berth explain " + printable(first->run.manifest.id)}},
      .doubt = {}};
  if (was_sent_from_outside(signal_of(first->run))) {
    finding.doubt = sentence("somebody ended it, and perhaps this one too");
  }
  const std::uint64_t known = evidence.siblings.size() + 1;
  if (known < place->ranks) {
    finding.doubt =
        sentence("only {} of {} ranks have a record here: one of the others may have ended before",
                 known, place->ranks);
  }
  return {std::move(finding)};
}

}  // namespace berth
