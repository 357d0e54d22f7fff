// berth itself ended it, or never started it.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/sentence.h"
#include "base/text.h"
#include "diagnose/postmortem/postmortem.h"

namespace berth {

namespace {

using std::chrono::milliseconds;

/// As --time takes it, in the largest unit that it is whole in.
std::string as_option(milliseconds time) {
  using namespace std::chrono_literals;
  if (time % 1h == 0ms) return fmt::format("{}h", time / 1h);
  if (time % 1min == 0ms) return fmt::format("{}m", time / 1min);
  if (time % 1s == 0ms) return fmt::format("{}s", time / 1s);
  return fmt::format("{}ms", time.count());
}

/// Twice what it had. 12 hours: that is not known, or no number to go by.
milliseconds more_time(const RunRecord& run) {
  using namespace std::chrono_literals;
  constexpr milliseconds most = 24h * 365;
  const milliseconds limit(run.manifest.time_limit_ms.value_or(0));
  return limit > 0ms && limit <= most ? 2 * limit : 12h;
}

std::vector<Finding::Step> steps_for_more_time(const RunRecord& run) {
  const milliseconds time = more_time(run);
  const milliseconds ahead = std::min<milliseconds>(std::chrono::minutes(5), time / 10);
  const std::string command = "berth run --time " + as_option(time);
  return {{sentence("give it more time"), command + " -- python train.py"},
          {sentence("save a checkpoint on the warning signal, and go on from it"),
           fmt::format("{} --warn-signal USR1 --warn-ahead {} -- python train.py", command,
                       as_option(ahead))},
          {sentence("an example that does so"), "berth recipes show resume"}};
}

Sentence title_of(const RunRecord& run) {
  const auto limit = run.manifest.time_limit_ms;
  if (!limit) return sentence("its time limit was over");
  const milliseconds length(*limit);
  const std::string time =
      length < std::chrono::seconds(1) ? as_option(length) : short_duration(length);
  if (is_ended_by_warning(run)) {
    return sentence("ended by the warning signal before its time limit of {}", time);
  }
  if (run.end->because == end_cause::warned) {
    return sentence("it ended after the warning that its time limit of {} was near", time);
  }
  return sentence("its time limit of {} was over", time);
}

Sentence meaning_of(const RunRecord& run) {
  if (is_ended_by_warning(run)) {
    return sentence(
        "berth sends the signal of --warn-signal as long before the limit as --warn-ahead says. A "
        "program that does not handle it ends then.");
  }
  if (run.end->because == end_cause::warned) {
    return sentence("berth warned it as --warn-signal and --warn-ahead say; it ended by itself.");
  }
  return sentence("berth ended it as --time says; the program had no fault.");
}

Finding time_limit(const PostmortemEvidence& evidence) {
  const RunRecord& run = evidence.run;
  Finding finding{.rule = "time_limit", .severity = Severity::warning};
  finding.title = title_of(run);
  for (const RunEvent& event : evidence.events) {
    if (event.kind == "time_limit") finding.evidence.push_back(event.text);
  }
  if (finding.evidence.empty()) {
    finding.evidence.push_back(sentence("the record says that berth ended it for that"));
  }
  finding.meaning = meaning_of(run);
  finding.steps = steps_for_more_time(run);
  return finding;
}

/// Its owner and root may stop a run.
Sentence meaning_of_stop(const std::string& owner) {
  if (owner == "root") return sentence("Only root can do so; the program had no fault.");
  return sentence("Only {} and root can do so; the program had no fault.", printable(owner));
}

Finding stopped(const PostmortemEvidence& evidence) {
  const std::string& by = evidence.run.end->stopped_by;
  return {.rule = "stopped",
          .severity = Severity::hint,
          .title = by.empty() ? sentence("somebody ended it with berth stop")
                              : sentence("{} ended it with berth stop", printable(by)),
          .evidence = {sentence("the record of the run has the wish to stop it")},
          .meaning = meaning_of_stop(evidence.run.manifest.user)};
}

Sentence title_of_never_started(const RunRecord& run) {
  const RunEnd& end = *run.end;
  if (!end.known) return Sentence(end.because);
  if (end.because == end_cause::no_device) {
    return sentence("no device came for it within {}", short_duration(waited(run, {})));
  }
  if (end.because != end_cause::left_queue) return sentence("it failed before it was started");
  if (end.stopped_by.empty()) return sentence("it left the queue before a device came");
  return sentence("{} took it out of the queue with berth stop", printable(end.stopped_by));
}

/// A run that was taken out of the queue has written nothing into its log. Neither has one that was
/// killed.
Finding never_started(const PostmortemEvidence& evidence) {
  const RunRecord& run = evidence.run;
  const bool left = run.end->because == end_cause::left_queue;
  Finding finding{.rule = "never_started",
                  .severity = left ? Severity::hint : Severity::error,
                  .title = title_of_never_started(run),
                  .meaning = sentence("The program never ran.")};
  if (!run.end->known) return finding;
  finding.evidence.push_back(
      sentence("it waited for {} and was not started", short_duration(waited(run, {}))));
  if (left) return finding;
  finding.meaning = sentence("The program never ran; its log says what was in the way.");
  finding.steps = {{sentence("see why it waited"), "berth logs " + run.manifest.id},
                   {sentence("see who holds the devices"), "berth leases"}};
  return finding;
}

Finding memory_cap(const PostmortemEvidence& evidence) {
  Finding finding{.rule = "memory_cap",
                  .severity = Severity::warning,
                  .title = sentence("it used more of the GPU's memory than its share"),
                  .meaning = sentence("berth ended it as its cap_action says."),
                  .steps = {{sentence("ask for as much as it needs"),
                             "berth run --memory 20G -- python train.py"},
                            {sentence("see what a model takes"), "berth fit --help"}}};
  for (const RunEvent& event : evidence.events) {
    if (event.kind == "memory_over_cap") finding.evidence.push_back(event.text);
  }
  if (finding.evidence.empty()) finding.evidence.push_back(sentence("the record says so"));
  return finding;
}

/// Ended by berth itself: its time was over, or somebody wanted it so. A GPU fault is
/// device_fault's.
Findings ended_by_berth(const PostmortemEvidence& evidence) {
  if (!evidence.run.end) return {};
  if (was_never_started(evidence.run)) return {never_started(evidence)};
  const std::string& because = evidence.run.end->because;
  if (because == end_cause::time_limit || because == end_cause::warned) {
    return {time_limit(evidence)};
  }
  if (because == end_cause::stopped) return {stopped(evidence)};
  if (because == end_cause::memory_cap) return {memory_cap(evidence)};
  return {};
}

/// The others were ended for it, and what they say is of that.
Findings rank_failed_first(const PostmortemEvidence& evidence) {
  if (!evidence.ranks || !evidence.ranks->failed_first) return {};
  const auto& ranks = evidence.ranks->ranks;
  const Rank& first = ranks[static_cast<std::size_t>(*evidence.ranks->failed_first)];
  Finding finding{.rule = "rank_failed_first", .severity = Severity::warning};
  const bool by_signal = first.exit.signal != 0;
  finding.title = by_signal
                      ? sentence("rank {} ended first, by {}; berth ended the others", first.rank,
                                 signal_name(first.exit.signal))
                      : sentence("rank {} ended first, with exit code {}; berth ended the others",
                                 first.rank, first.exit.code);
  finding.evidence = {sentence("the record's table of {} ranks", ranks.size())};
  finding.meaning = sentence("What the other ranks printed last tells of their being ended.");
  finding.steps = {{sentence("see what it printed"),
                    fmt::format("berth logs {} --rank {}", evidence.run.manifest.id, first.rank)}};
  return {finding};
}

}  // namespace

std::span<const PostmortemRule> ended_by_berth_rules() {
  static constexpr PostmortemRule rules[] = {
      {.find = ended_by_berth,

       .reports = {{"time_limit", "warning",
                    "the record says that berth ended it for its time, or warned it of that; "
                    "whether the warning or the limit is told by how long it ran",
                    "yes"},
                   {"stopped", "hint", "the record has the wish of `berth stop`", "yes"},
                   {"memory_cap", "warning",
                    "the record says that berth ended it for its memory, as its cap_action says",
                    "yes"},
                   {"never_started", "error; hint where it was taken out of the queue",
                    "the record says that it waited, detached, and never started: no device came, "
                    "it was taken out of the queue (by whom), or it failed first",
                    "yes"}}},
      {.find = rank_failed_first,
       .reports = {{"rank_failed_first", "warning",
                    "of a run with `--ddp`, the table of ranks says which ended first, and badly; "
                    "its log is the one that is read",
                    "yes"}}},
  };
  return rules;
}

}  // namespace berth
