#include "view/findings_json.h"

#include <nlohmann/json.hpp>

namespace berth {

static void put(Archive& archive, Sentence& sentence) {
  std::string english = sentence.english();
  archive.scalar(english);
}

static void walk(Archive& archive, Finding::Step& step) {
  archive.derived("what", step.what);
  archive.derived("command", step.command, Form::nullable);
}

void walk(Archive& archive, Finding& finding) {
  archive.derived("rule", finding.rule);
  archive.derived("severity", name_of(finding.severity));
  archive.derived("title", finding.title);
  archive.derived("evidence", finding.evidence);
  archive.derived("meaning", finding.meaning);
  archive.derived("steps", finding.steps);
  archive.derived("doubt", finding.doubt.english(), Form::nullable);
}

nlohmann::ordered_json findings_json(const Findings& findings) {
  using Json = nlohmann::ordered_json;
  Json all = Json::array();
  for (const Finding& finding : findings) {
    Json evidence = Json::array();
    for (const Sentence& seen : finding.evidence) evidence.push_back(seen.english());
    Json steps = Json::array();
    for (const Finding::Step& step : finding.steps) {
      steps.push_back({{"what", step.what.english()},
                       {"command", step.command.empty() ? Json(nullptr) : Json(step.command)}});
    }
    all.push_back(
        {{"rule", finding.rule},
         {"severity", name_of(finding.severity)},
         {"title", finding.title.english()},
         {"evidence", std::move(evidence)},
         {"meaning", finding.meaning.english()},
         {"steps", std::move(steps)},
         {"doubt", finding.doubt.empty() ? Json(nullptr) : Json(finding.doubt.english())}});
  }
  return all;
}

}  // namespace berth
