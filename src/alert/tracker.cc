#include "alert/tracker.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>

#include "base/sentence.h"

namespace berth {

namespace {

/// Random: an id made of the subject would let a reader guess who holds a card.
std::string id_of(const Alert& alert) {
  std::uint32_t random = 0;
  // Without random bytes from the kernel, rule and moment remain. Two such alerts at once differ by
  // their subjects.
  if (::getrandom(&random, sizeof random, 0) != sizeof random) random = 0;
  return fmt::format("{}-{:08x}-{}", name_of(alert.rule), random, alert.since.unix_ms);
}

/// What a driver, or a file that stands for one, calls things has no end by itself.
std::string clipped(std::string text) {
  constexpr std::size_t longest = 1000;
  if (text.size() > longest) text.resize(longest);
  return text;
}

Sentence clipped(const Sentence& said) {
  const std::string whole = said.english();
  const std::string part = clipped(whole);
  return part.size() == whole.size() ? said : Sentence(part);
}

/// How long ago by the calendar, as a point of the steady clock. Never later than now.
Instant ago(WallTime at, Moment now) {
  const std::int64_t ms = std::max<std::int64_t>(now.wall.unix_ms - at.unix_ms, 0);
  // Further back than any hold or patience there is no difference.
  constexpr std::int64_t longest_ms = std::int64_t{400} * 86'400'000;
  return now.steady - std::chrono::milliseconds(std::min(ms, longest_ms));
}

}  // namespace

void AlertTracker::restore(std::vector<Alert> active, std::vector<Alert> ended, Moment now) {
  for (Alert& alert : active) {
    const Key key{alert.rule, alert.subject};
    if (tracked_.size() >= most_active) break;
    alert.simulated = simulated_;
    // That nobody looked while the program was away is no sign that it is over.
    const Instant seen = facts_of(alert.rule).is_event ? ago(alert.last_seen, now) : now.steady;
    tracked_[key] = {.alert = std::move(alert),
                     .first = seen,
                     .seen = seen,
                     .told_of = now.steady,
                     .has_begun = true};
  }
  for (Alert& alert : ended) {
    if (ended_.size() >= most_ended) break;
    alert.simulated = simulated_;
    ended_.push_back(std::move(alert));
  }
}

std::size_t AlertTracker::active_count() const {
  return static_cast<std::size_t>(std::count_if(
      tracked_.begin(), tracked_.end(), [](const auto& one) { return one.second.has_begun; }));
}

void AlertTracker::note(Alert alert, Moment now) {
  alert.subject = clipped(std::move(alert.subject));
  alert.summary = clipped(alert.summary);
  alert.advice = clipped(alert.advice);
  alert.simulated = simulated_;
  const Key key{alert.rule, alert.subject};
  const auto had = tracked_.find(key);
  if (had == tracked_.end() && tracked_.size() >= most_waiting) {
    ++left_out_;
    return;
  }
  Tracked& tracked = had != tracked_.end() ? had->second : tracked_[key];
  if (had == tracked_.end()) {
    tracked.first = now.steady;
  } else {
    alert.id = tracked.alert.id;
    alert.since = tracked.alert.since;
    alert.severity = std::max(alert.severity, tracked.alert.severity);
  }
  tracked.seen = facts_of(alert.rule).is_event ? ago(alert.last_seen, now) : now.steady;
  tracked.told_of = now.steady;
  tracked.alert = std::move(alert);
}

bool AlertTracker::is_unknown(const Tracked& tracked, const RuleMatches& matches) {
  const Alert& alert = tracked.alert;
  if (facts_of(alert.rule).is_event) return false;
  if (alert.rule == AlertRule::gpu_lost && alert.device &&
      std::ranges::find(matches.devices, *alert.device) == matches.devices.end()) {
    return true;
  }
  return std::ranges::any_of(matches.unknown, [&](const Unknown& one) {
    const bool of_its_device = one.subject && alert.device && *one.subject == alert.device->text();
    return one.rule == alert.rule &&
           (!one.subject || *one.subject == alert.subject || of_its_device);
  });
}

void AlertTracker::finish(Alert alert, Ending ending, WallTime at,
                          std::vector<AlertChange>& changes) {
  alert.resolved = at;
  alert.ending = ending;
  ended_.push_front(alert);
  if (ended_.size() > most_ended) ended_.pop_back();
  changes.push_back({.what = AlertChange::What::ended, .alert = std::move(alert)});
}

AlertTracker::Transition AlertTracker::transition_of(const Tracked& tracked, Told told,
                                                     const AlertRuleSettings& settings,
                                                     Moment now) {
  const AlertRuleFacts& facts = facts_of(tracked.alert.rule);
  const bool given_up = told == Told::unknown && now.steady - tracked.told_of >= longest_unknown;
  if ((!settings.is_on || given_up) && !tracked.has_begun) return Transition::is_forgotten;
  if (!settings.is_on) return Transition::is_unwatched;
  if (given_up) return Transition::is_given_up;
  const Duration unseen = now.steady - tracked.seen;
  if (tracked.has_begun) {
    return told == Told::clear && unseen >= settings.hold ? Transition::is_resolved
                                                          : Transition::stays;
  }
  if (told == Told::clear && unseen > facts.gap) return Transition::is_forgotten;
  const bool lasts = facts.is_event || now.steady - tracked.first >= settings.lasting;
  return told == Told::seen && lasts ? Transition::begins : Transition::stays;
}

std::optional<Ending> AlertTracker::ending_of(Transition step) {
  switch (step) {
    case Transition::is_resolved:
      return Ending::resolved;
    case Transition::is_given_up:
      return Ending::unknown;
    case Transition::is_unwatched:
      return Ending::unwatched;
    case Transition::stays:
    case Transition::begins:
    case Transition::is_forgotten:
      break;
  }
  return std::nullopt;
}

void AlertTracker::forget_old(WallTime now) {
  constexpr auto kept = std::chrono::duration_cast<std::chrono::milliseconds>(ended_kept);
  while (!ended_.empty() && ended_.back().resolved &&
         now.unix_ms - ended_.back().resolved->unix_ms >= kept.count()) {
    ended_.pop_back();
  }
}

std::vector<AlertChange> AlertTracker::see(const RuleMatches& matches,
                                           const AlertSettings& settings, Moment now) {
  std::set<Key> seen_now;
  for (const Alert& alert : matches.seen) {
    if (!settings.of(alert.rule).is_on) continue;
    note(alert, now);
    seen_now.emplace(alert.rule, clipped(alert.subject));
  }
  std::vector<AlertChange> changes;
  std::size_t active = active_count();
  for (auto it = tracked_.begin(); it != tracked_.end();) {
    Tracked& tracked = it->second;
    const Told told = seen_now.contains(it->first)   ? Told::seen
                      : is_unknown(tracked, matches) ? Told::unknown
                                                     : Told::clear;
    if (told != Told::unknown) tracked.told_of = now.steady;
    Transition step = transition_of(tracked, told, settings.of(tracked.alert.rule), now);
    // While nothing can be told the hold does not run.
    if (told == Told::unknown && tracked.has_begun) tracked.seen = now.steady;
    if (step == Transition::begins && active >= most_active) {
      ++left_out_;
      step = Transition::is_forgotten;
    }
    if (step == Transition::begins) {
      ++active;
      tracked.has_begun = true;
      tracked.alert.id = id_of(tracked.alert);
      changes.push_back({.what = AlertChange::What::began, .alert = tracked.alert});
    }
    const auto ending = ending_of(step);
    if (ending) finish(std::move(tracked.alert), *ending, now.wall, changes);
    const bool goes = ending || step == Transition::is_forgotten;
    it = goes ? tracked_.erase(it) : std::next(it);
  }
  forget_old(now.wall);
  return changes;
}

std::vector<Alert> AlertTracker::active() const {
  std::vector<Alert> active;
  for (const auto& [key, tracked] : tracked_) {
    if (tracked.has_begun) active.push_back(tracked.alert);
  }
  std::ranges::stable_sort(active, [](const Alert& a, const Alert& b) {
    return a.severity != b.severity ? a.severity > b.severity : a.since > b.since;
  });
  return active;
}

}  // namespace berth
