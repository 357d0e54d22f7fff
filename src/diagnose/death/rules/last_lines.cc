// Nothing says why: then the last lines of its log, where there is one.

#include "diagnose/death/explain_log.h"
#include "diagnose/death/rules.h"

namespace berth {

Findings last_lines(const DeathEvidence& evidence) {
  constexpr std::size_t most_lines = 12;
  if (evidence.log == nullptr || evidence.log->size() == 0) return {};
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
  return {std::move(finding)};
}

}  // namespace berth
