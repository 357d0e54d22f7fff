// How it ended is not recorded.

#include "diagnose/death/rules.h"

namespace berth {

namespace {

Finding end_finding() {
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

Findings end_unknown(const DeathEvidence& evidence) {
  const RunRecord& run = evidence.run;
  if (run.end && run.end->known) return {};
  return {end_finding()};
}

}  // namespace berth
