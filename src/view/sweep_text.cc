#include "view/sweep_text.h"

#include <fmt/format.h>

#include "base/process.h"
#include "base/text.h"
#include "base/tr.h"
#include "view/csv.h"
#include "view/refresh.h"
#include "view/runs_text.h"
#include "view/table.h"
#include "view/values.h"

namespace berth {

namespace {

std::string last_mark(const RunRecord& run) {
  const auto marks = marks_of(run);
  return marks.empty() ? std::string() : marks.back().text;
}

/// For programs: the exit code as a shell has it; empty: it has not ended, or nobody knows how.
std::string exit_text(const RunRecord& run) {
  const bool is_known = ending_of(run) == JobEnding::with_0 || has_failed(run);
  return is_known ? std::to_string(shell_exit_code(run.end->exit)) : std::string();
}

}  // namespace

std::string progress_line(const SweepCount& count, const Style& style) {
  std::string text = trf("{} of {} ended", count.ended, count.all);
  if (count.badly > 0) text += trf(" ({} badly)", count.badly);
  if (count.running > 0) text += trf(", {} running", count.running);
  if (count.waiting > 0) text += trf(", {} waiting", count.waiting);
  const double share =
      count.all == 0 ? 1 : static_cast<double>(count.ended) / static_cast<double>(count.all);
  return progress_bar(share) + " " + own(text, style);
}

std::string render_sweep(const std::vector<SweepParameter>& parameters,
                         const std::vector<SweepRow>& rows, const Moment& now, const Style& style) {
  std::vector<TableColumn> columns;
  for (const SweepParameter& one : parameters) columns.push_back({.header = one.name});
  columns.push_back({.header = as_key("Run")});
  columns.push_back({.header = as_key("End"), .minimum = 8});
  columns.push_back({.header = as_key("Lasted"), .drop_order = 2});
  columns.push_back({.header = as_key("Last mark"),
                     .minimum = 8,
                     .drop_order = 1,
                     .when_empty = WhenEmpty::goes});
  std::vector<TableRow> cells;
  for (const SweepRow& row : rows) {
    TableRow line;
    for (const std::string& value : row.point->values) line.emplace_back(outside(value, style));
    if (!row.run) {
      line.emplace_back(std::string(absent_mark(style)));
      line.emplace_back(own(tr("not started"), style));
      line.emplace_back(std::string());
      line.emplace_back(std::string());
    } else {
      const auto time = lasted(*row.run, now);
      line.emplace_back(outside(row.run->manifest.id, style));
      line.emplace_back(own(state_text(*row.run), style),
                        is_over(*row.run) && !ended_well(*row.run) ? Paint::red : Paint::plain);
      line.emplace_back(time ? short_duration(*time) : std::string());
      line.emplace_back(outside(last_mark(*row.run), style));
    }
    cells.push_back(std::move(line));
  }
  return Table(columns, std::move(cells), 2, style).text();
}

std::string sweep_csv(const std::vector<SweepParameter>& parameters,
                      const std::vector<SweepRow>& rows, const Moment& now) {
  std::string text;
  for (const SweepParameter& one : parameters) text += csv_quoted(one.name) + ",";
  text += "run,state,exit_code,lasted_ms,last_mark\n";
  for (const SweepRow& row : rows) {
    for (const std::string& value : row.point->values) text += csv_quoted(printable(value)) + ",";
    if (row.run) {
      const auto time = lasted(*row.run, now);
      text +=
          fmt::format("{},{},{},{},{}\n", csv_quoted(row.run->manifest.id), name_of(row.run->state),
                      exit_text(*row.run), time ? std::to_string(time->count()) : std::string(),
                      csv_quoted(printable(last_mark(*row.run))));
    } else {
      text += ",not started,,,\n";
    }
  }
  return text;
}

}  // namespace berth
