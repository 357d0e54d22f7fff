// How it ended is not recorded.

#include "diagnose/death/rules.h"

namespace berth {

namespace {

Finding end_unknown() {
  return {
      .rule = "end_unknown",
      .severity = Severity::warning,
      .title = sentence("how it ended is not recorded"),
      .evidence = {sentence("its keeper has gone without writing the end")},
      .meaning = sentence("The machine went down, the disk was full, or somebody killed berth's "
                          "own processes."),
      .steps = {{sentence("see when the machine was started last"), "uptime -s"}},
      .doubt = {}};
}

}  // namespace

Findings death_without_record(const DeathEvidence& evidence) {
  const RunRecord& run = evidence.run;
  if (run.end && run.end->known) return {};
  return {end_unknown()};
}

}  // namespace berth
