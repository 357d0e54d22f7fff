#include "serve/poll_schedule.h"

#include <algorithm>
#include <functional>

namespace berth::serve {

namespace {

/// The first round: so long for each host, and never longer than the interval.
constexpr std::chrono::milliseconds apart{5};

/// splitmix64 (Steele, Lea and Flood 2014): the next number after `state`.
std::uint64_t next_chance(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111eb;
  return z ^ (z >> 31U);
}

/// Between 0 and 1.
double next_share(std::uint64_t& state) {
  return static_cast<double>(next_chance(state) >> 11U) / static_cast<double>(1ULL << 53U);
}

Duration times(Duration span, double factor) {
  return Duration(static_cast<Duration::rep>(static_cast<double>(span.count()) * factor));
}

}  // namespace

PollSchedule::PollSchedule(PollRules rules, const std::vector<std::string>& names, Instant now)
    : rules_(rules), turns_(names.size()) {
  const Duration spread =
      std::min<Duration>(rules_.interval, apart * static_cast<int>(names.size()));
  for (std::size_t i = 0; i < names.size(); ++i) {
    turns_[i].chance = std::hash<std::string>{}(names[i]);
    turns_[i].due = now + times(spread, next_share(turns_[i].chance));
  }
}

std::vector<std::size_t> PollSchedule::take_due(Instant now) {
  std::vector<std::size_t> due;
  for (std::size_t i = 0; i < turns_.size(); ++i) {
    if (!turns_[i].is_under_way && turns_[i].due <= now) due.push_back(i);
  }
  // Hosts that answer are asked first. Those that do not may take half of the places: twenty hosts
  // that swallow packets must not delay the others.
  std::stable_sort(due.begin(), due.end(), [&](std::size_t a, std::size_t b) {
    const bool fails_a = turns_[a].failures > 0;
    const bool fails_b = turns_[b].failures > 0;
    return fails_a != fails_b ? fails_b : turns_[a].due < turns_[b].due;
  });
  const std::size_t most_failing = std::max<std::size_t>(rules_.at_once / 2, 1);
  std::vector<std::size_t> taken;
  for (const std::size_t i : due) {
    if (under_way_ >= rules_.at_once) break;
    const bool fails = turns_[i].failures > 0;
    if (fails && failing_under_way_ >= most_failing) break;
    turns_[i].is_under_way = true;
    ++under_way_;
    failing_under_way_ += fails ? 1 : 0;
    taken.push_back(i);
  }
  return taken;
}

void PollSchedule::answered(std::size_t which, Went went, Instant now) {
  Turn& turn = turns_[which];
  if (!turn.is_under_way) return;
  turn.is_under_way = false;
  --under_way_;
  failing_under_way_ -= turn.failures > 0 ? 1 : 0;
  turn.failures = went == Went::well ? 0 : turn.failures + 1;
  turn.due = now + pause_after(turn);
}

/// The pause is the interval after a good answer and after the first bad one. Then it doubles each
/// time. It varies by a tenth, so that hosts asked together do not stay together.
Duration PollSchedule::pause_after(Turn& turn) const {
  constexpr int enough_doublings = 16;
  Duration pause = rules_.interval;
  const Duration longest = std::max(rules_.interval, rules_.longest_pause);
  for (int i = 1; i < std::min(turn.failures, enough_doublings) && pause < longest; ++i) pause *= 2;
  return times(std::min(pause, longest), 0.9 + 0.2 * next_share(turn.chance));
}

std::optional<Instant> PollSchedule::next() const {
  if (under_way_ >= rules_.at_once) return std::nullopt;
  const bool no_more_failing = failing_under_way_ >= std::max<std::size_t>(rules_.at_once / 2, 1);
  std::optional<Instant> soonest;
  for (const Turn& turn : turns_) {
    if (turn.is_under_way || (turn.failures > 0 && no_more_failing)) continue;
    if (!soonest || turn.due < *soonest) soonest = turn.due;
  }
  return soonest;
}

}  // namespace berth::serve
