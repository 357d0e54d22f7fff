#include "base/text.h"
#include "diagnose/doctor/rules.h"

namespace berth::doctor {

Findings import_failed(const Examined& host) {
  if (!host.world.python) return {};
  const ImportAnswer& said = host.world.python->said;
  Findings findings;
  const auto add = [&](Severity severity, Sentence title, Sentence evidence, Sentence meaning) {
    findings.push_back({.rule = "import_failed",
                        .severity = severity,
                        .title = std::move(title),
                        .evidence = {std::move(evidence)},
                        .meaning = std::move(meaning),
                        .steps = {{sentence("see where it stops"),
                                   shell_quoted(host.world.python->interpreter) +
                                       " -X faulthandler -X importtime -c 'import " +
                                       (said.frameworks.empty() ? std::string("torch")
                                                                : said.frameworks.back().name) +
                                       "'"}}});
  };
  const std::string last = said.frameworks.empty() ? "" : said.frameworks.back().name;
  if (said.end == ImportEnd::took_too_long) {
    add(Severity::warning,
        last.empty() ? sentence("the Python interpreter does not come back")
                     : sentence("importing {} takes too long", last),
        sentence("it had not come to an end after its time limit and was ended"),
        sentence("A slow file system under the environment, or a driver that hangs."));
  }
  if (said.end == ImportEnd::crashed) {
    add(Severity::error,
        last.empty() ? sentence("the Python interpreter crashes before it imports anything")
                     : sentence("importing {} crashes the interpreter", last),
        sentence("its process ended by {}", said.detail),
        sentence("Mostly libraries of two installations mixed in one environment."));
  }
  for (const FrameworkSaid& one : said.frameworks) {
    if (one.error.empty()) continue;
    add(Severity::error, sentence("{} cannot be imported", one.name),
        sentence("it wrote: {}", masked_text(one.error)),
        sentence("Until that is cured no program of this environment can use it."));
  }
  return findings;
}

}  // namespace berth::doctor
