// What is wrong with the machine that berth itself lives on: its disks, and what it asks.

#include <algorithm>
#include <map>

#include "alert/rules_parts.h"
#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"

namespace berth::alert {

namespace {

using std::chrono::minutes;
using std::chrono::seconds;

/// A machine without any such card needs no driver, and that there is none is no failure.
bool needs_no_driver(const Snapshot& snapshot) {
  const bool has_card = std::any_of(snapshot.devices.begin(), snapshot.devices.end(), is_supported);
  return !has_card &&
         std::any_of(snapshot.problems.begin(), snapshot.problems.end(), [](const Problem& one) {
           return is_driver(one.source) &&
                  (one.code == "library_not_found" || one.code == "driver_not_loaded");
         });
}

/// A problem's own word for why, of the source as a whole.
Sentence why_in_words(const Snapshot& snapshot, const std::string& source) {
  for (const Problem& problem : snapshot.problems) {
    if (problem.source == source && !problem.device) {
      return sentence("{} cannot be asked: {}", source, printable(problem.code));
    }
  }
  return sentence("{} cannot be asked", source);
}

Alert of_source(const Round& round, const std::string& source, Sentence summary) {
  return {.rule = AlertRule::probe_failing,
          .subject = source,
          .severity = facts_of(AlertRule::probe_failing).severity,
          .since = round.look.now,
          .last_seen = round.look.now,
          .summary = std::move(summary),
          .advice = sentence("berth status says what was attempted, and what to do")};
}

void see_disks(const Round& round) {
  constexpr AlertRule rule = AlertRule::disk_nearly_full;
  for (const DiskUse& disk : round.look.disks) {
    if (!disk.total.get() || !disk.available.get() || *disk.total.get() == Bytes{0}) {
      round.found.unknown.push_back({.rule = rule, .subject = disk.what});
      continue;
    }
    const auto used = minus(*disk.total.get(), *disk.available.get()).value_or(Bytes{0});
    const double share =
        100.0 * static_cast<double>(used.count()) / static_cast<double>(disk.total.get()->count());
    if (share < static_cast<double>(round.threshold(rule))) continue;
    round.found.seen.push_back(
        {.rule = rule,
         .subject = disk.what,
         .severity = facts_of(rule).severity,
         .since = round.look.now,
         .last_seen = round.look.now,
         // Rounded down: 99.6 % is not "100 % full".
         .summary = sentence("the file system of {} is {} % full, {} are left", Sentence(disk.what),
                             static_cast<int>(share), short_size(*disk.available.get())),
         .advice = sentence("make room: berth counts what does not fit as lost")});
  }
}

void see_sources(const Round& round) {
  constexpr AlertRule rule = AlertRule::probe_failing;
  const Snapshot& snapshot = round.look.snapshot;
  std::map<std::string, bool> succeeded;  // several reports of one source: the worst counts
  for (const SourceReport& report : snapshot.sources) {
    if (!round.look.is_fresh) break;
    const auto [at, is_new] = succeeded.emplace(printable(report.source), report.succeeded);
    if (!is_new) at->second = at->second && report.succeeded;
  }
  bool is_told = false;
  for (const auto& [source, worked] : succeeded) {
    if (worked || (is_driver(source) && needs_no_driver(snapshot))) continue;
    round.found.seen.push_back(of_source(round, source, why_in_words(snapshot, source)));
    is_told = true;
  }
  if (!round.look.is_fresh) round.found.unknown.push_back({.rule = rule, .subject = std::nullopt});
  // A source that failed is why: one alert is enough.
  if (round.look.unanswered_since && !is_told) {
    round.found.seen.push_back(
        of_source(round, "look", sentence("something that berth asked does not answer")));
  }
}

}  // namespace

std::span<const AlertRuleFacts> host_rules() {
  static constexpr AlertRuleFacts rules[] = {
      {.rule = AlertRule::disk_nearly_full,
       .name = "disk_nearly_full",
       .severity = AlertSeverity::warning,
       .finds = as_key("the file system of berth's history and state is fuller than the threshold"),
       .unit = ThresholdUnit::percent,
       .threshold = 95,
       .lasting = minutes(1),
       .hold = minutes(5),
       .see = see_disks},
      {.rule = AlertRule::probe_failing,
       .name = "probe_failing",
       .severity = AlertSeverity::warning,
       .finds = as_key("a source of readings cannot be asked, or does not answer"),
       .lasting = minutes(1),
       .hold = minutes(1),
       .see = see_sources},
  };
  return rules;
}

}  // namespace berth::alert

namespace berth {

DiskUse disk_of_state(Reading<Bytes> total, Reading<Bytes> available) {
  return {.what = std::string(as_key("berth's history and state")),
          .total = total,
          .available = available};
}

}  // namespace berth
