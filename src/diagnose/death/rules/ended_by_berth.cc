// Ended by berth itself: its time was over, or somebody wanted it so. A GPU fault is
// device_fault's.

#include "base/text.h"
#include "diagnose/death/rules.h"

namespace berth {

namespace {

Finding time_limit(const DeathEvidence& evidence) {
  const RunRecord& run = evidence.run;
  Finding finding{.rule = "time_limit", .severity = Severity::warning, .evidence = {}, .steps = {}};
  const auto limit = run.manifest.time_limit_ms;
  finding.title = limit ? sentence("its time limit of {} was over",
                                   short_duration(std::chrono::milliseconds(*limit)))
                        : sentence("its time limit was over");
  for (const RunEvent& event : evidence.events) {
    if (event.kind == "time_limit") finding.evidence.push_back(Sentence(event.text, {}));
  }
  if (finding.evidence.empty()) {
    finding.evidence.push_back(sentence("the record says that berth ended it for that"));
  }
  finding.meaning = sentence("berth ended it as --time says; the program had no fault.");
  finding.steps = {{sentence("give it more time"), "berth run --time 12h -- python train.py"},
                   {sentence("save a checkpoint on the warning signal, and go on from it"),
                    "berth run --time 12h --warn-signal USR1 --warn-ahead 5m -- python train.py"}};
  return finding;
}

Finding stopped(const DeathEvidence& evidence) {
  return {.rule = "stopped",
          .severity = Severity::hint,
          .title = sentence("somebody ended it with berth stop"),
          .evidence = {sentence("the record of the run has the wish to stop it")},
          .meaning = sentence("Only {} and root can do so; the program had no fault.",
                              printable(evidence.run.manifest.user)),
          .steps = {},
          .doubt = {}};
}

}  // namespace

Findings ended_by_berth(const DeathEvidence& evidence) {
  if (!evidence.run.end) return {};
  const std::string& because = evidence.run.end->because;
  if (because == end_cause::time_limit || because == end_cause::warned) {
    return {time_limit(evidence)};
  }
  if (because == end_cause::stopped) return {stopped(evidence)};
  return {};
}

}  // namespace berth
