#pragma once
// `berth manifest` and `berth manifest diff`, for people and for programs. They show what a place
// or a run is made of, and how two differ.

#include <string>
#include <string_view>
#include <vector>

#include "base/archive.h"
#include "diagnose/manifest_diff/manifest_diff.h"
#include "record/run_record.h"
#include "view/style.h"

namespace berth {

/// One thing that a manifest says: its label, translated, and its value. What is absent says why.
struct ManifestRow {
  std::string label;
  std::string value;  // as it is: who shows it escapes it
};
/// Under a heading, translated: "GPU 0", "Machine", "Software".
struct ManifestSection {
  std::string heading;
  std::vector<ManifestRow> rows;
};
[[nodiscard]] std::vector<ManifestSection> manifest_sections(const Manifest& manifest,
                                                             const Style& style);

[[nodiscard]] std::string render_manifest(const Manifest& manifest, const Style& style);

/// What the two were called on the command line.
struct ComparedNames {
  std::string a;
  std::string b;
};
[[nodiscard]] std::string render_differences(const ComparedNames& names,
                                             const ManifestDiff& differences, const Style& style);
/// {"berth_differences": 1, …}. Sentences are English.
[[nodiscard]] std::string differences_json(const ComparedNames& names,
                                           const ManifestDiff& differences);
/// Its members, for a caller that puts them into a document of its own.
void write_differences(Archive& archive, const ComparedNames& names,
                       const ManifestDiff& differences);

/// "could explain other results", …, translated.
[[nodiscard]] std::string_view explains_heading(Explains explains);
/// "not known in A: it was not read", translated.
[[nodiscard]] std::string not_comparable_text(const NotComparable& one, const ComparedNames& names);

}  // namespace berth
