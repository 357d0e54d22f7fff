#include "diagnose/ranks/hang.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

/// A card in a kernel that waits for others is busy and draws little.
constexpr double waiting_utilization = 95;
constexpr double waiting_power = 0.3;

bool begins_with_one_of(std::string_view text, std::span<const std::string_view> beginnings) {
  return std::ranges::any_of(beginnings,
                             [&](std::string_view one) { return text.starts_with(one); });
}

Sentence act_text(const RankSeen& seen) {
  switch (act_of(seen)) {
    case RankActs::has_ended:
      return seen.exit.signal != 0
                 ? sentence("rank {} has ended, by signal {}", seen.rank, seen.exit.signal)
                 : sentence("rank {} has ended, with {}", seen.rank, seen.exit.code);
    case RankActs::is_stopped:
      return sentence("rank {} is stopped, as by Ctrl-Z or a debugger", seen.rank);
    case RankActs::is_stuck:
      return sentence("rank {} is stuck in the kernel: {}", seen.rank, seen.waits_in);
    case RankActs::sleeps:
      return sentence("rank {} sleeps: {}", seen.rank, seen.waits_in);
    case RankActs::waits_for_others:
      if (seen.power && seen.utilization && *seen.utilization >= waiting_utilization &&
          *seen.power < waiting_power) {
        return sentence("rank {} waits: its card is busy at {} % and draws {} % of its limit",
                        seen.rank, static_cast<int>(*seen.utilization),
                        static_cast<int>(*seen.power * 100));
      }
      return sentence("rank {} waits: {}", seen.rank, seen.waits_in);
    case RankActs::works:
      return sentence("rank {} works", seen.rank);
    case RankActs::is_unknown:
      return sentence("rank {}: not to be told", seen.rank);
  }
  return {};
}

std::vector<Finding::Step> steps_for(int rank, std::string_view run) {
  return {{sentence("see what it printed last"), fmt::format("berth logs {} --rank {}", run, rank)},
          {sentence("end the run, and see where each rank stands"),
           fmt::format("berth stop --stacks {}", run)}};
}

/// PyTorch's own word, where there is one.
std::optional<Finding> by_dumps(const std::map<int, FlightDump>& dumps, int ranks,
                                std::string_view run) {
  const FlightStory story = flight_story(dumps, ranks);
  if (story.how == FlightStory::How::nobody) return std::nullopt;
  Finding finding{.rule = "rank_hang", .severity = Severity::error};
  const std::string who = joined(story.ranks, ", ");
  const std::string awaited =
      fmt::format("{} ({})", printable(story.awaited.name), story.awaited.number);
  finding.meaning = sentence("An operation between ranks ends once every rank has entered it.");
  if (story.how == FlightStory::How::differs) {
    finding.title = sentence("the ranks are in different operations");
    finding.evidence = {
        sentence("PyTorch's flight recorder, rank and operation: {}", printable(story.last))};
  } else if (story.how == FlightStory::How::behind) {
    finding.title = sentence("rank {} has not entered the operation that the others wait in", who);
    finding.evidence = {
        sentence("PyTorch's flight recorder: ranks {} are in {}", joined(story.others, ", "),
                 awaited),
        sentence("rank {} did last: {}", story.ranks.front(), printable(story.last))};
  } else {
    finding.title = sentence("rank {} has dumped nothing, and the others wait", who);
    finding.evidence = {sentence("PyTorch's flight recorder: ranks {} are in {}",
                                 joined(story.others, ", "), awaited)};
    finding.doubt = sentence("a rank that is ending dumps nothing, either");
  }
  finding.steps = steps_for(story.ranks.front(), run);
  return finding;
}

/// Libraries keep their connection to the meeting point until the end.
std::optional<Finding> by_meeting(const std::vector<RankSeen>& ranks, std::string_view run) {
  std::vector<int> there;
  std::vector<const RankSeen*> missing;
  for (const RankSeen& one : ranks) {
    if (one.has_ended || !one.has_met) continue;
    if (!*one.has_met) {
      missing.push_back(&one);
    } else if (act_of(one) != RankActs::works) {
      there.push_back(one.rank);
    }
  }
  if (there.empty() || missing.empty()) return std::nullopt;
  std::vector<int> awaited;
  for (const RankSeen* one : missing) awaited.push_back(one->rank);
  Finding finding{.rule = "rank_hang", .severity = Severity::warning};
  finding.title = sentence("rank {} has not come to where the ranks meet, and ranks {} are there",
                           joined(awaited, ", "), joined(there, ", "));
  for (const RankSeen* one : missing) finding.evidence.push_back(act_text(*one));
  finding.meaning = sentence("No rank goes on before all have met at MASTER_ADDR and MASTER_PORT.");
  finding.steps = steps_for(awaited.front(), run);
  finding.doubt = sentence("a rank that loads its data first comes later");
  return finding;
}

}  // namespace

void note_look(RankSeen& seen, bool is_first, char state, std::string_view waits_in) {
  if (is_first) {
    seen = {.rank = seen.rank, .exit = {}, .state = state, .waits_in = std::string(waits_in)};
    return;
  }
  if (state != seen.state) seen.state = '?';
  if (waits_in != seen.waits_in) seen.waits_in.clear();
}

void add_cards(std::vector<RankSeen>& ranks, const std::vector<Device>& given,
               const Snapshot& snapshot) {
  if (snapshot.simulated) return;
  for (std::size_t i = 0; i < ranks.size() && i < given.size(); ++i) {
    const Device* device = find_device(given[i].id, snapshot);
    if (device == nullptr) continue;
    if (device->utilization_gpu.get()) {
      ranks[i].utilization = device->utilization_gpu.get()->count();
    }
    const auto draw = device->power_draw.get();
    const auto limit = device->power_limit.get();
    if (draw && limit && limit->count() > 0) {
      ranks[i].power = static_cast<double>(draw->count()) / static_cast<double>(limit->count());
    }
  }
}

RankActs act_of(const RankSeen& seen) {
  constexpr auto sleep = std::to_array<std::string_view>({"hrtimer_nanosleep", "do_nanosleep"});
  constexpr auto wait = std::to_array<std::string_view>(
      {"futex_", "do_futex", "poll_schedule", "do_poll", "do_sys_poll", "do_select", "ep_poll",
       "do_epoll", "wait_woken", "sk_wait_data", "inet_csk_", "inet_stream_", "tcp_", "unix_",
       "__skb_wait", "__tcp_"});
  if (seen.has_ended || seen.state == 'Z' || seen.state == 'X') return RankActs::has_ended;
  if (seen.state == 'T' || seen.state == 't') return RankActs::is_stopped;
  if (seen.state == 'D') return RankActs::is_stuck;
  if (seen.utilization && seen.power) {
    if (*seen.utilization >= waiting_utilization && *seen.power < waiting_power) {
      return RankActs::waits_for_others;
    }
    if (*seen.utilization >= waiting_utilization) return RankActs::works;
  }
  if (begins_with_one_of(seen.waits_in, sleep)) return RankActs::sleeps;
  if (begins_with_one_of(seen.waits_in, wait)) return RankActs::waits_for_others;
  return seen.state == 'R' ? RankActs::works : RankActs::is_unknown;
}

std::optional<Finding> find_rank_hang(const std::vector<RankSeen>& ranks,
                                      const std::map<int, FlightDump>& dumps,
                                      std::string_view run) {
  if (auto told = by_dumps(dumps, static_cast<int>(ranks.size()), run)) return told;
  if (auto told = by_meeting(ranks, run)) return told;
  std::vector<int> waiting;
  std::vector<const RankSeen*> others;
  for (const RankSeen& one : ranks) {
    const RankActs act = act_of(one);
    // A rank whose act is unknown may be the one. Then no other is accused.
    if (act == RankActs::is_unknown) return std::nullopt;
    if (act == RankActs::waits_for_others) {
      waiting.push_back(one.rank);
    } else {
      others.push_back(&one);
    }
  }
  if (waiting.empty() || others.empty() || others.size() > waiting.size()) return std::nullopt;
  std::vector<int> awaited;
  for (const RankSeen* one : others) awaited.push_back(one->rank);
  Finding finding{.rule = "rank_hang", .severity = Severity::warning};
  finding.title = sentence("ranks {} wait, and rank {} does not: they may wait for it",
                           joined(waiting, ", "), joined(awaited, ", "));
  for (const RankSeen* one : others) finding.evidence.push_back(act_text(*one));
  for (const RankSeen& one : ranks) {
    if (act_of(one) == RankActs::waits_for_others) finding.evidence.push_back(act_text(one));
  }
  finding.meaning = sentence("An operation between ranks ends once every rank has entered it.");
  finding.steps = steps_for(awaited.front(), run);
  finding.doubt =
      sentence("seen for two seconds: a rank that loads data or saves a checkpoint looks the same");
  return finding;
}

}  // namespace berth
