#include "view/findings_json.h"

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

}  // namespace berth
