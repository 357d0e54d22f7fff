#include "view/findings_text.h"

#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"
#include "view/values.h"

namespace berth {

namespace {

std::string sentence_lines(std::string_view indent, const Sentence& said, const Style& style,
                           Paint paint = Paint::plain) {
  if (said.empty()) return "";
  const int next = display_width(indent) + (indent.ends_with("- ") ? 0 : 2);
  return wrapped(indent, outside(said.shown(), style), next, style, paint);
}

std::string steps_text(const Finding& finding, const Style& style) {
  std::string text;
  for (const Finding::Step& step : finding.steps) {
    text += sentence_lines(style.utf8 ? "    → " : "    > ", step.what, style);
    // Not wrapped: a command broken in two is another command.
    if (!step.command.empty()) text += "        " + outside(step.command, style) + "\n";
  }
  return text;
}

Paint finding_paint(Severity severity) {
  switch (severity) {
    case Severity::hint:
      return Paint::blue;
    case Severity::warning:
      return Paint::yellow;
    case Severity::error:
      return Paint::red;
  }
  return Paint::plain;
}

}  // namespace

std::string_view finding_word(Severity severity) {
  switch (severity) {
    case Severity::hint:
      return tr("hint");
    case Severity::warning:
      return tr("warning");
    case Severity::error:
      return tr("error");
  }
  return "";
}

std::string render_findings(const Findings& findings, const Style& style) {
  std::string text;
  for (const Finding& finding : findings) {
    if (!text.empty()) text += "\n";
    const std::string head = own(trf("{}: ", finding_word(finding.severity)), style);
    text += wrapped(head, outside(finding.title.shown(), style), display_width(head), style,
                    finding_paint(finding.severity));
    for (const Sentence& seen : finding.evidence) {
      text += sentence_lines("    - ", seen, style);
    }
    text += sentence_lines("    ", finding.meaning, style);
    text += steps_text(finding, style);
    if (!finding.doubt.empty()) {
      text +=
          wrapped("    ", own(trf("Not certain: {}", outside(finding.doubt.shown(), style)), style),
                  4, style, Paint::dim);
    }
  }
  return text;
}

std::string render_fixes(const Findings& findings, const Style& style) {
  std::string text;
  for (const Finding& finding : findings) {
    std::string commands;
    for (const Finding::Step& step : finding.steps) {
      if (step.command.empty()) continue;
      if (!step.what.empty()) commands += "# " + outside(step.what.shown(), style) + "\n";
      commands += outside(step.command, style) + "\n";
    }
    if (commands.empty()) continue;
    if (!text.empty()) text += "\n";
    text += own(trf("# {}: ", finding_word(finding.severity)), style) +
            outside(finding.title.shown(), style) + "\n" + commands;
  }
  return text;
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
  archive.derived("doubt", finding.doubt, Form::nullable);
}

}  // namespace berth
