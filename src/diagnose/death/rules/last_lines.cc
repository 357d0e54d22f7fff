// Nothing says why: then its exit code and the last lines of its log, where there is one.

#include "diagnose/death/death.h"
#include "diagnose/death/explain_log.h"

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

Findings death_without_cause(const DeathEvidence& evidence) {
  constexpr std::size_t most_lines = 12;
  Findings findings;
  const RunRecord& run = evidence.run;
  if (!run.end || !run.end->known) findings.push_back(end_unknown());
  if (evidence.log == nullptr || evidence.log->size() == 0) return findings;
  Finding finding{.rule = "last_lines",
                  .severity = Severity::hint,
                  .title = sentence("the last lines of its log"),
                  .evidence = {},
                  .meaning = sentence("Nothing surer is known: they may tell more."),
                  .steps = {},
                  .doubt = {}};
  for (const std::string& line : last_lines(*evidence.log, most_lines)) {
    finding.evidence.push_back(Sentence("{}", {line}));
  }
  findings.push_back(std::move(finding));
  return findings;
}

}  // namespace berth
