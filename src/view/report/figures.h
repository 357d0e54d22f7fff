#pragma once
// What the HTML and the Markdown of a report both say: figures, notes on the data, rows of the
// environment. Text for people, translated, not yet escaped.

#include <string>
#include <vector>

#include "view/manifest_text.h"
#include "view/report/model.h"

namespace berth {

struct FigureRow {
  std::string label;
  std::vector<std::string> values;  // one per run
};
/// Rows that say something of at least one run.
[[nodiscard]] std::vector<FigureRow> figure_rows(const Report& report, const Style& style);

/// What a reader has to know before he trusts the figures: gaps, torn lines, how energy was
/// counted.
[[nodiscard]] std::vector<std::string> notes_on(const ReportRun& run, const Style& style);

/// The manifests beside each other: under each heading the rows that any of them has.
struct EnvironmentTable {
  std::string heading;
  std::vector<FigureRow> rows;
};
[[nodiscard]] std::vector<EnvironmentTable> environment_tables(const Report& report,
                                                               const Style& style);

/// "Run 2025…" or "2 runs compared".
[[nodiscard]] std::string report_title(const Report& report);
/// The servers that were simulated, for the mark on top; empty: none.
[[nodiscard]] std::string simulated_names(const Report& report);
/// "A", "B" of a comparison; the id of a run alone.
[[nodiscard]] std::string run_heading(const Report& report, std::size_t run);
/// The name's heading and one per run.
[[nodiscard]] std::vector<std::string> run_columns(const Report& report, std::string_view name);
[[nodiscard]] ComparedNames names_of(std::size_t run);

/// Time since the start: "2m03s"; "~" in front where it is not exact.
[[nodiscard]] std::string elapsed_text(std::int64_t at_ms, bool exact = true);

/// How much of a run was of which sort, the largest share first: name, duration, percent.
[[nodiscard]] std::vector<FigureRow> phase_rows(const ReportRun& run);

/// For a run of several ranks: each with its node, device, CPUs and end. Empty: it is none.
[[nodiscard]] std::vector<FigureRow> rank_rows(const ReportRun& run);
[[nodiscard]] std::vector<std::string> rank_columns_of_report();

/// Where a section would be empty, and the reader could not tell "nothing" from "not looked".
[[nodiscard]] std::string_view nothing_found_text();

}  // namespace berth
