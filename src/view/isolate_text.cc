#include "view/isolate_text.h"

#include <string_view>

#include "base/json_archive.h"
#include "base/sentence.h"
#include "base/tr.h"

namespace berth {

namespace {

std::string_view word_of(IsolationCheck::Answer answer) {
  switch (answer) {
    case IsolationCheck::Answer::yes:
      return tr("yes");
    case IsolationCheck::Answer::no:
      return tr("no");
    case IsolationCheck::Answer::unknown:
      return tr("cannot be shown");
  }
  return {};
}

}  // namespace

std::string render_isolation(const IsolationReport& report) {
  std::string text(tr("Can an isolated job …"));
  text += "\n";
  for (const IsolationCheck& check : report.checks) {
    text +=
        trf("  {}: {} ({})", tr(check.title), word_of(check.answer), check.detail.shown()) + "\n";
  }
  for (const Sentence& cost : report.costs) text += trf("What it costs: {}", cost.shown()) + "\n";
  return text;
}

std::string isolation_json(const IsolationReport& report) {
  return write_json(JsonLayout::indented, [&](Archive& archive) {
    archive.derived("berth_isolate", 1);
    archive.derived("is_well", report.is_well());
    archive.derived_list("checks", report.checks, [&](const IsolationCheck& check) {
      archive.derived("name", check.name);
      archive.derived("answer", name_of(check.answer));
      archive.derived("detail", check.detail, Form::plain);
    });
    archive.derived("costs", report.costs);
  });
}

}  // namespace berth
