// What differs between two manifests: for people, and as JSON.

#include <algorithm>

#include "base/json_archive.h"
#include "base/tr.h"
#include "view/manifest_text.h"
#include "view/paint.h"

namespace berth {

namespace {

constexpr Explains all_classes[] = {Explains::results, Explains::speed, Explains::neither};

Paint paint_of(Explains explains) {
  switch (explains) {
    case Explains::results:
      return Paint::red;
    case Explains::speed:
      return Paint::yellow;
    case Explains::neither:
      return Paint::dim;
  }
  return Paint::plain;
}

std::string found_text(const Difference& one, const ComparedNames& names, const Style& style) {
  const auto side = [&](const std::string& name, const Sentence& value) {
    return wrapped("    " + outside(name, style) + ": ", outside(value.shown(), style), 6, style);
  };
  return wrapped("  ", outside(one.what.shown(), style), 4, style, Paint::bold) +
         side(names.a, one.in_a) + side(names.b, one.in_b);
}

/// What differs of one class; each reason once, below all that it holds for.
std::string class_text(const ComparedNames& names, const ManifestDiff& differences, Explains wanted,
                       const Style& style) {
  if (!any_found(differences, wanted)) return "";
  std::string text = wrapped("", own(explains_heading(wanted), style), 2, style, paint_of(wanted));
  const auto& found = differences.found;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].explains != wanted) continue;
    text += found_text(found[i], names, style);
    const bool goes_on =
        i + 1 < found.size() && found[i + 1].why == found[i].why && found[i + 1].explains == wanted;
    if (!goes_on) text += wrapped("    ", own(tr(found[i].why), style), 4, style, Paint::dim);
  }
  return text + "\n";
}

std::string_view side_name(NotComparable::Side side) {
  switch (side) {
    case NotComparable::Side::a:
      return "a";
    case NotComparable::Side::b:
      return "b";
    case NotComparable::Side::both:
      return "both";
  }
  return "both";
}

}  // namespace

std::string_view explains_heading(Explains explains) {
  switch (explains) {
    case Explains::results:
      return tr("Could explain other results");
    case Explains::speed:
      return tr("Could explain another speed, not other results");
    case Explains::neither:
      return tr("Explains neither by itself");
  }
  return "";
}

std::string not_comparable_text(const NotComparable& one, const ComparedNames& names) {
  switch (one.unknown_in) {
    case NotComparable::Side::a:
      return trf("not known in {}: {}", names.a, one.because.shown());
    case NotComparable::Side::b:
      return trf("not known in {}: {}", names.b, one.because.shown());
    case NotComparable::Side::both:
      return trf("cannot be compared: {}", one.because.shown());
  }
  return "";
}

std::string render_differences(const ComparedNames& names, const ManifestDiff& differences,
                               const Style& style) {
  std::string text;
  if (!any_found(differences, Explains::results)) {
    text += wrapped("", own(tr("Nothing was found that could explain other results."), style), 2,
                    style, Paint::green) +
            "\n";
  }
  for (const Explains wanted : all_classes) text += class_text(names, differences, wanted, style);
  if (!differences.unknown.empty()) {
    text += wrapped("", own(tr("Not comparable"), style), 2, style, Paint::yellow);
  }
  for (const NotComparable& one : differences.unknown) {
    text += wrapped("  " + outside(one.what.shown(), style) + "  ",
                    outside(not_comparable_text(one, names), style), 4, style);
  }
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

void write_differences(Archive& archive, const ComparedNames& names,
                       const ManifestDiff& differences) {
  archive.derived("a", names.a);
  archive.derived("b", names.b);
  archive.derived_list("differences", differences.found, [&](const Difference& one) {
    archive.derived("rule", one.rule);
    archive.derived("explains", name_of(one.explains));
    archive.derived("what", one.what.english());
    archive.derived("a", one.in_a.english());
    archive.derived("b", one.in_b.english());
    archive.derived("why", one.why);
  });
  archive.derived_list("not_comparable", differences.unknown, [&](const NotComparable& one) {
    archive.derived("rule", one.rule);
    archive.derived("could_explain", name_of(one.could_explain));
    archive.derived("what", one.what.english());
    archive.derived("unknown_in", side_name(one.unknown_in));
    archive.derived("because", one.because.english());
  });
}

std::string differences_json(const ComparedNames& names, const ManifestDiff& differences) {
  return write_json(JsonLayout::indented,
                    [&](Archive& archive) {
                      archive.derived("berth_differences", 1);
                      write_differences(archive, names, differences);
                    }) +
         "\n";
}

}  // namespace berth
