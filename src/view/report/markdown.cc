// A report as Markdown: figures, findings, lines of blocks for charts, tables.

#include <fmt/format.h>

#include <algorithm>

#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"
#include "view/findings_text.h"
#include "view/report/chart.h"
#include "view/report/figures.h"
#include "view/report/markup.h"
#include "view/values.h"

namespace berth {

namespace {

constexpr int chart_columns = 48;

std::string row_text(const std::vector<std::string>& cells) {
  std::string text = "|";
  for (const std::string& cell : cells) {
    text += " " + (cell.empty() ? "–" : markdown_escaped(cell)) + " |";
  }
  return text + "\n";
}

std::string table_text(const std::vector<std::string>& columns,
                       const std::vector<FigureRow>& rows) {
  std::string text = row_text(columns) + "|";
  for (std::size_t i = 0; i < columns.size(); ++i) text += "---|";
  text += "\n";
  for (const FigureRow& row : rows) {
    std::vector<std::string> cells = {row.label};
    cells.insert(cells.end(), row.values.begin(), row.values.end());
    text += row_text(cells);
  }
  return text + "\n";
}

std::string heading(std::string_view text) { return fmt::format("## {}\n\n", text); }

/// A command between as many backquotes as it does not have in a row.
std::string code_block(const std::string& command) {
  const std::string text = printable(command);
  std::string fence = "```";
  while (text.find(fence) != std::string::npos) fence += "`";
  return fence + "\n" + text + "\n" + fence + "\n\n";
}

/// The means of a line in equal steps of time; blank where there is none.
std::vector<Reading<double>> in_steps(const Chart& chart, const ChartLine& line) {
  std::vector<Reading<double>> values(chart_columns);
  for (const Track::Point& point : line.track->points()) {
    if (chart.length_ms <= 0) continue;
    const auto at = static_cast<std::size_t>(std::clamp<std::int64_t>(
        point.at_ms * chart_columns / (chart.length_ms + 1), 0, chart_columns - 1));
    values[at] = point.most / chart.per_unit;
  }
  return values;
}

std::string charts_text(const Report& report, const Style& style) {
  std::string text;
  for (const Chart& chart : charts_of(report).drawn) {
    if (chart.bottom != 0) continue;  // blocks begin at nothing
    for (const ChartLine& line : chart.lines) {
      const std::string picture = sparkline(in_steps(chart, line), chart.top, chart_columns, style);
      const std::string unit = chart.unit.empty() ? "" : " " + chart.unit;
      std::string name = chart.title;
      if (!line.name.empty()) name += ", " + line.name;
      text += fmt::format("| {} | `{}` | {}{} |\n", markdown_escaped(name), picture,
                          three_digits(line.track->most().value_or(0) / chart.per_unit), unit);
    }
  }
  if (text.empty()) return "";
  return heading(tr("Charts")) +
         fmt::format("| {} | {} | {} |\n|---|---|---|\n", tr("What"),
                     tr("From the start to the end"), tr("Most")) +
         text + "\n";
}

std::string findings_text(const Report& report) {
  std::string text;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    if (report.runs[i].findings.empty()) {
      const std::string letter = report.runs.size() > 1 ? run_letter(i) + ": " : std::string();
      text += markdown_escaped(letter + std::string(nothing_found_text())) + "\n\n";
    }
    for (const Finding& finding : report.runs[i].findings) {
      text += fmt::format("**{}{}: {}**\n\n",
                          report.runs.size() > 1 ? run_letter(i) + ", " : std::string(),
                          finding_word(finding.severity), markdown_escaped(finding.title.shown()));
      for (const Sentence& seen : finding.evidence) {
        text += "- " + markdown_escaped(seen.shown()) + "\n";
      }
      text += "\n";
      if (!finding.meaning.empty()) text += markdown_escaped(finding.meaning.shown()) + "\n\n";
      if (!finding.doubt.empty()) {
        text += markdown_escaped(trf("Not certain: {}", finding.doubt.shown())) + "\n\n";
      }
      for (const Finding::Step& step : finding.steps) {
        if (!step.what.empty()) text += "→ " + markdown_escaped(step.what.shown()) + "\n\n";
        if (!step.command.empty()) text += code_block(step.command);
      }
    }
  }
  return heading(tr("Findings")) + text;
}

std::string times_text(const Report& report) {
  std::vector<FigureRow> marks;
  std::vector<FigureRow> events;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const std::string letter = report.runs.size() > 1 ? run_letter(i) + " " : std::string();
    for (const ReportMark& mark : report.runs[i].marks) {
      marks.push_back({letter + elapsed_text(mark.at_ms, mark.exact), {mark.text}});
    }
    for (const ReportEvent& event : report.runs[i].events) {
      events.push_back({letter + elapsed_text(event.at_ms), {event.text.shown()}});
    }
  }
  std::string text;
  const std::string since(tr("Since the start"));
  if (!marks.empty()) {
    text += heading(tr("Marks")) + table_text({since, std::string(tr("Mark"))}, marks);
  }
  if (!events.empty()) {
    text +=
        heading(tr("Noticed")) + table_text({since, std::string(tr("What berth noticed"))}, events);
  }
  return text;
}

std::string phases_text(const Report& report) {
  std::string text;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const ReportRun& run = report.runs[i];
    if (run.phases.empty()) continue;
    const std::string letter = report.runs.size() > 1 ? run_letter(i) + ", " : std::string();
    text += table_text(
        {letter + std::string(tr("Phase")), std::string(tr("Time")), std::string(tr("Share"))},
        phase_rows(run));
  }
  return text.empty() ? "" : heading(tr("Phases")) + text;
}

std::string ranks_text(const Report& report) {
  std::string text;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const auto rows = rank_rows(report.runs[i]);
    if (rows.empty()) continue;
    if (report.runs.size() > 1) text += markdown_escaped(run_heading(report, i)) + "\n\n";
    text += table_text(rank_columns_of_report(), rows);
  }
  return text.empty() ? "" : heading(tr("Ranks")) + text;
}

std::string manifest_diff_text(const Report& report) {
  std::string text;
  for (std::size_t i = 0; i < report.differences.size(); ++i) {
    const ComparedNames names = names_of(i + 1);
    const ManifestDiff& differences = report.differences[i];
    std::vector<FigureRow> rows;
    for (const Difference& one : differences.found) {
      rows.push_back({one.what.shown(),
                      {one.in_a.shown(), one.in_b.shown(),
                       std::string(explains_heading(one.explains)), std::string(tr(one.why))}});
    }
    if (!any_found(differences, Explains::results)) {
      text += std::string(tr("Nothing was found that could explain other results.")) + "\n\n";
    }
    if (!rows.empty()) {
      text += table_text({std::string(tr("What")), names.a, names.b, std::string(tr("Explains")),
                          std::string(tr("Why"))},
                         rows);
    }
    for (const NotComparable& one : differences.unknown) {
      text += "- " +
              markdown_escaped(one.what.shown() + std::string(tr(": ")) +
                               not_comparable_text(one, names)) +
              "\n";
    }
    if (!differences.unknown.empty()) text += "\n";
  }
  return text.empty() ? "" : heading(tr("What differed in the environment")) + text;
}

std::string notes_text(const Report& report, const Style& style) {
  std::string text = heading(tr("About the data"));
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const std::string letter = report.runs.size() > 1 ? run_letter(i) + ": " : std::string();
    for (const std::string& note : notes_on(report.runs[i], style)) {
      text += "- " + markdown_escaped(letter + note) + "\n";
    }
  }
  return text + "\n";
}

}  // namespace

std::string report_markdown(const Report& report, const Style& style) {
  Style page = style;
  page.utf8 = true;
  page.colour = false;
  std::string text = "# " + markdown_escaped(report_title(report)) + "\n\n";
  const std::string simulated = simulated_names(report);
  if (!simulated.empty()) {
    text += "**SIMULATED " + markdown_escaped(simulated) + "**\n\n" +
            markdown_escaped(invented_figures_text()) + "\n\n";
  }
  for (const ReportRun& run : report.runs) {
    text += code_block(shell_joined(run.record.manifest.command));
  }
  text += heading(tr("Figures")) +
          table_text(run_columns(report, tr("Figure")), figure_rows(report, page));
  text += findings_text(report) + ranks_text(report) + charts_text(report, page) +
          phases_text(report) + times_text(report) + manifest_diff_text(report) +
          notes_text(report, page);
  const std::vector<EnvironmentTable> tables = environment_tables(report, page);
  if (!tables.empty()) text += heading(tr("Hardware and software"));
  for (const EnvironmentTable& table : tables) {
    text += table_text(run_columns(report, table.heading), table.rows);
  }
  return text +
         markdown_escaped(trf("Written by berth {} on {}.", BERTH_VERSION,
                              date_time_text(report.written, page))) +
         "\n";
}

}  // namespace berth
