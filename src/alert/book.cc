#include "alert/book.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>

namespace berth {

namespace {

/// By chance: made of its subject it would tell whoever guesses well who holds a card.
std::string id_of(const Alert& alert) {
  std::uint32_t random = 0;
  // A kernel that gives none leaves the rule and the moment: two of those at once are told apart by
  // what they are of.
  if (::getrandom(&random, sizeof random, 0) != sizeof random) random = 0;
  return fmt::format("{}-{:08x}-{}", name_of(alert.rule), random, alert.since.unix_ms);
}

/// What a driver, or a file that stands for one, calls things has no end by itself.
std::string clipped(std::string text) {
  constexpr std::size_t longest = 1000;
  if (text.size() > longest) text.resize(longest);
  return text;
}

/// How long ago by the calendar, as a point of the steady clock. Never later than now.
Instant ago(WallTime at, Moment now) {
  const std::int64_t ms = std::max<std::int64_t>(now.wall.unix_ms - at.unix_ms, 0);
  // Further back than any hold or patience there is no difference.
  constexpr std::int64_t longest_ms = std::int64_t{400} * 86'400'000;
  return now.steady - std::chrono::milliseconds(std::min(ms, longest_ms));
}

}  // namespace

void AlertBook::restore(std::vector<Alert> active, std::vector<Alert> ended, Moment now) {
  for (Alert& alert : active) {
    const Key key{alert.rule, alert.subject};
    if (watched_.size() >= most_active) break;
    alert.simulated = simulated_;
    // That nobody looked while the program was away is no sign that it is over.
    const Instant seen = facts_of(alert.rule).is_event ? ago(alert.last_seen, now) : now.steady;
    watched_[key] = {.alert = std::move(alert),
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

std::size_t AlertBook::active_count() const {
  return static_cast<std::size_t>(std::count_if(
      watched_.begin(), watched_.end(), [](const auto& one) { return one.second.has_begun; }));
}

void AlertBook::note(const Sighting& sighting, Moment now) {
  const Key key{sighting.rule, clipped(sighting.subject)};
  const bool is_event = facts_of(sighting.rule).is_event;
  const auto had = watched_.find(key);
  if (had == watched_.end() && watched_.size() >= most_waiting) {
    ++left_out_;
    return;
  }
  Watched& watched = had != watched_.end() ? had->second : watched_[key];
  if (had == watched_.end()) {
    watched.first = now.steady;
    watched.alert.rule = sighting.rule;
    watched.alert.subject = key.second;
    watched.alert.since = sighting.at;
    watched.alert.simulated = simulated_;
  }
  Alert& alert = watched.alert;
  alert.severity = std::max(alert.severity, sighting.severity);
  alert.device = sighting.device;
  alert.index = sighting.index;
  alert.last_seen = sighting.at;
  alert.summary = clipped(sighting.summary.english());
  alert.advice = clipped(sighting.advice.english());
  alert.users = sighting.users;
  watched.seen = is_event ? ago(sighting.at, now) : now.steady;
  watched.told_of = now.steady;
}

bool AlertBook::is_unknown(const Watched& watched, const Sightings& sightings) {
  const Alert& alert = watched.alert;
  if (facts_of(alert.rule).is_event) return false;
  if (alert.rule == AlertRule::gpu_lost && alert.device &&
      std::ranges::find(sightings.devices, *alert.device) == sightings.devices.end()) {
    return true;
  }
  return std::ranges::any_of(sightings.unknown, [&](const Unknown& one) {
    const bool of_its_device = one.subject && alert.device && *one.subject == alert.device->text();
    return one.rule == alert.rule &&
           (!one.subject || *one.subject == alert.subject || of_its_device);
  });
}

void AlertBook::finish(Alert alert, Ending ending, WallTime at, std::vector<AlertChange>& changes) {
  alert.resolved = at;
  alert.ending = ending;
  ended_.push_front(alert);
  if (ended_.size() > most_ended) ended_.pop_back();
  changes.push_back({.what = AlertChange::What::ended, .alert = std::move(alert)});
}

AlertBook::Step AlertBook::step_of(const Watched& watched, Told told,
                                   const AlertRuleSettings& settings, Moment now) {
  const AlertRuleFacts& facts = facts_of(watched.alert.rule);
  const bool given_up = told == Told::unknown && now.steady - watched.told_of >= longest_unknown;
  if ((!settings.is_on || given_up) && !watched.has_begun) return Step::is_forgotten;
  if (!settings.is_on) return Step::is_unwatched;
  if (given_up) return Step::is_given_up;
  const Duration unseen = now.steady - watched.seen;
  if (watched.has_begun) {
    return told == Told::clear && unseen >= settings.hold ? Step::is_resolved : Step::stays;
  }
  if (told == Told::clear && unseen > facts.gap) return Step::is_forgotten;
  const bool lasts = facts.is_event || now.steady - watched.first >= settings.lasting;
  return told == Told::seen && lasts ? Step::begins : Step::stays;
}

std::optional<Ending> AlertBook::ending_of(Step step) {
  switch (step) {
    case Step::is_resolved:
      return Ending::resolved;
    case Step::is_given_up:
      return Ending::unknown;
    case Step::is_unwatched:
      return Ending::unwatched;
    case Step::stays:
    case Step::begins:
    case Step::is_forgotten:
      break;
  }
  return std::nullopt;
}

void AlertBook::forget_old(WallTime now) {
  constexpr auto kept = std::chrono::duration_cast<std::chrono::milliseconds>(ended_kept);
  while (!ended_.empty() && ended_.back().resolved &&
         now.unix_ms - ended_.back().resolved->unix_ms >= kept.count()) {
    ended_.pop_back();
  }
}

std::vector<AlertChange> AlertBook::see(const Sightings& sightings, const AlertSettings& settings,
                                        Moment now) {
  std::set<Key> seen_now;
  for (const Sighting& sighting : sightings.seen) {
    if (!settings.of(sighting.rule).is_on) continue;
    note(sighting, now);
    seen_now.emplace(sighting.rule, clipped(sighting.subject));
  }
  std::vector<AlertChange> changes;
  std::size_t active = active_count();
  for (auto it = watched_.begin(); it != watched_.end();) {
    Watched& watched = it->second;
    const Told told = seen_now.contains(it->first)     ? Told::seen
                      : is_unknown(watched, sightings) ? Told::unknown
                                                       : Told::clear;
    if (told != Told::unknown) watched.told_of = now.steady;
    Step step = step_of(watched, told, settings.of(watched.alert.rule), now);
    // While nothing can be told the hold does not run.
    if (told == Told::unknown && watched.has_begun) watched.seen = now.steady;
    if (step == Step::begins && active >= most_active) {
      ++left_out_;
      step = Step::is_forgotten;
    }
    if (step == Step::begins) {
      ++active;
      watched.has_begun = true;
      watched.alert.id = id_of(watched.alert);
      changes.push_back({.what = AlertChange::What::began, .alert = watched.alert});
    }
    const auto ending = ending_of(step);
    if (ending) finish(std::move(watched.alert), *ending, now.wall, changes);
    const bool goes = ending || step == Step::is_forgotten;
    it = goes ? watched_.erase(it) : std::next(it);
  }
  forget_old(now.wall);
  return changes;
}

std::vector<Alert> AlertBook::active() const {
  std::vector<Alert> active;
  for (const auto& [key, watched] : watched_) {
    if (watched.has_begun) active.push_back(watched.alert);
  }
  std::ranges::stable_sort(active, [](const Alert& a, const Alert& b) {
    return a.severity != b.severity ? a.severity > b.severity : a.since > b.since;
  });
  return active;
}

}  // namespace berth
