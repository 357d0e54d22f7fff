// A report as one HTML file: no script, nothing from elsewhere.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/tr.h"
#include "view/findings_text.h"
#include "view/report/chart.h"
#include "view/report/figures.h"
#include "view/report/markup.h"
#include "view/report/style_sheet.h"
#include "view/values.h"

namespace berth {

namespace {

// ------------------------------------------------------------------------------------- its tables

struct HtmlTable {
  std::string label;                 // what it is, for who cannot see it
  std::vector<std::string> columns;  // the heading of the row's name, then those of its values
  std::vector<FigureRow> rows;
  /// `even` names of one width; `comparing` as well, and rows whose values differ stand out.
  enum class Widths { as_it_comes, even, comparing };
  Widths widths = Widths::as_it_comes;
};

bool values_differ(const FigureRow& row) {
  return std::ranges::adjacent_find(row.values, std::not_equal_to{}) != row.values.end();
}

std::string row_html(const FigureRow& row, bool marks_differences) {
  std::string html = marks_differences && values_differ(row) ? "<tr class=\"differs\">" : "<tr>";
  html += element("th", row.label, "scope=\"row\"");
  for (const std::string& value : row.values) html += element("td", value.empty() ? "–" : value);
  return html + "</tr>\n";
}

/// All of it escaped here. A wide one scrolls by itself, by keyboard too.
std::string table_html(const HtmlTable& table) {
  const bool is_even = table.widths != HtmlTable::Widths::as_it_comes;
  std::string html = fmt::format(
      "<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
      "aria-label=\"{}\">\n<table{}>\n<thead><tr>",
      html_escaped(table.label), is_even ? " class=\"even\"" : "");
  for (const std::string& column : table.columns) html += element("th", column, "scope=\"col\"");
  html += "</tr></thead>\n<tbody>\n";
  const bool compares = table.widths == HtmlTable::Widths::comparing;
  for (const FigureRow& row : table.rows) html += row_html(row, compares);
  return html + "</tbody>\n</table>\n</div>\n";
}

/// A section with one part per run that has something to tell.
template <class Part>
std::string section_per_run(const Report& report, std::string_view heading, Part part) {
  std::string html;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    // What stands beside it may be of the same run: a region's name says of what it is, too.
    std::string label(heading);
    if (report.runs.size() > 1) label += ", " + run_heading(report, i);
    const std::string text = part(report.runs[i], label);
    if (text.empty()) continue;
    if (report.runs.size() > 1) html += element("h3", run_heading(report, i)) + "\n";
    html += text;
  }
  if (html.empty()) return "";
  return "<section>\n" + element("h2", heading) + "\n" + html + "</section>\n";
}

std::string differences_of(const ManifestDiff& differences, const ComparedNames& names) {
  std::string html;
  for (const Explains wanted : {Explains::results, Explains::speed, Explains::neither}) {
    HtmlTable table{.label = std::string(explains_heading(wanted)),
                    .columns = {std::string(tr("What")), names.a, names.b, std::string(tr("Why"))}};
    for (const Difference& one : differences.found) {
      if (one.explains != wanted) continue;
      table.rows.push_back(
          {one.what.shown(), {one.in_a.shown(), one.in_b.shown(), std::string(tr(one.why))}});
    }
    if (table.rows.empty()) continue;
    html += fmt::format("<h4 class=\"{}\">{}</h4>\n", name_of(wanted),
                        html_escaped(explains_heading(wanted)));
    html += table_html(table);
  }
  if (!differences.unknown.empty()) {
    html += element("h4", tr("Not comparable")) + "\n<ul>\n";
    for (const NotComparable& one : differences.unknown) {
      html += element("li",
                      one.what.shown() + std::string(tr(": ")) + not_comparable_text(one, names)) +
              "\n";
    }
    html += "</ul>\n";
  }
  return html;
}

std::string phases_html(const Report& report) {
  return section_per_run(report, tr("Phases"), [](const ReportRun& run, const std::string& label) {
    if (run.phases.empty()) return std::string();
    return table_html(
        {.label = label,
         .columns = {std::string(tr("Phase")), std::string(tr("Time")), std::string(tr("Share"))},
         .rows = phase_rows(run)});
  });
}

std::string ranks_html(const Report& report) {
  return section_per_run(report, tr("Ranks"), [](const ReportRun& run, const std::string& label) {
    auto rows = rank_rows(run);
    if (rows.empty()) return std::string();
    return table_html(
        {.label = label, .columns = rank_columns_of_report(), .rows = std::move(rows)});
  });
}

std::string marks_html(const Report& report) {
  return section_per_run(report, tr("Marks"), [](const ReportRun& run, const std::string& label) {
    if (run.marks.empty()) return std::string();
    HtmlTable table{.label = label,
                    .columns = {"#", std::string(tr("Since the start")), std::string(tr("Mark"))}};
    for (const ReportMark& mark : run.marks) {
      table.rows.push_back({std::to_string(table.rows.size() + 1),
                            {elapsed_text(mark.at_ms, mark.exact), mark.text}});
    }
    return table_html(table);
  });
}

std::string events_html(const Report& report) {
  return section_per_run(report, tr("Noticed"), [](const ReportRun& run, const std::string& label) {
    if (run.events.empty()) return std::string();
    HtmlTable table{.label = label,
                    .columns = {std::string(tr("Since the start")), std::string(tr("Kind")),
                                std::string(tr("What berth noticed"))}};
    for (const ReportEvent& event : run.events) {
      table.rows.push_back({elapsed_text(event.at_ms), {event.kind, event.text.shown()}});
    }
    return table_html(table);
  });
}

std::string differences_html(const Report& report) {
  if (report.differences.empty()) return "";
  std::string html = "<section>\n" + element("h2", tr("What differed in the environment")) + "\n";
  for (std::size_t i = 0; i < report.differences.size(); ++i) {
    const ComparedNames names = names_of(i + 1);
    html += element("h3", trf("{} and {}", names.a, names.b)) + "\n";
    if (!any_found(report.differences[i], Explains::results)) {
      html += element("p", tr("Nothing was found that could explain other results.")) + "\n";
    }
    html += differences_of(report.differences[i], names);
  }
  return html + "</section>\n";
}

std::string environment_html(const Report& report, const Style& style) {
  const std::vector<EnvironmentTable> tables = environment_tables(report, style);
  if (tables.empty()) return "";
  std::string html = "<section>\n" + element("h2", tr("Hardware and software")) + "\n";
  for (const EnvironmentTable& table : tables) {
    html += element("h3", table.heading) + "\n";
    html += table_html({.label = table.heading,
                        .columns = run_columns(report, tr("What")),
                        .rows = table.rows,
                        .widths = report.runs.size() > 1 ? HtmlTable::Widths::comparing
                                                         : HtmlTable::Widths::even});
  }
  return html + "</section>\n";
}

// --------------------------------------------------------------------------------------- the page

std::string head_html(const Report& report) {
  const bool chinese = current_language() == Language::simplified_chinese;
  const std::string simulated = simulated_names(report);
  const std::string title =
      report_title(report) + (simulated.empty() ? "" : " (SIMULATED " + simulated + ")");
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"{}\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"generator\" content=\"berth {}\">\n<title>{}</title>\n<style>{}</style>\n"
      "</head>\n<body>\n",
      chinese ? "zh-Hans" : "en", BERTH_VERSION, html_escaped(title), report_style_sheet);
}

std::string header_html(const Report& report) {
  std::string html = "<header>\n";
  const std::string simulated = simulated_names(report);
  // Never translated: the mark on a screenshot must be understood by everybody.
  if (!simulated.empty()) {
    html += element("p", "SIMULATED " + simulated, "class=\"sim\"") + "\n";
    html += element("p", invented_figures_text(), "class=\"soft\"") + "\n";
  }
  html += element("h1", report_title(report)) + "\n";
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const std::string command = shell_joined(report.runs[i].record.manifest.command);
    const std::string label = report.runs.size() > 1 ? run_heading(report, i) : std::string();
    if (!label.empty()) html += element("p", label, "class=\"soft\"") + "\n";
    html += element("code", command, "class=\"command\"") + "\n";
  }
  return html + "</header>\n";
}

/// The figures of one run as tiles: read at a glance.
std::string tiles_html(const std::vector<FigureRow>& rows) {
  std::string html = "<dl class=\"tiles\">\n";
  for (const FigureRow& row : rows) {
    html += "<div>" + element("dt", row.label) + element("dd", row.values.front()) + "</div>\n";
  }
  return html + "</dl>\n";
}

std::string figures_html(const Report& report, const Style& style) {
  const auto rows = figure_rows(report, style);
  std::string html = "<section>\n" + element("h2", tr("Figures")) + "\n";
  html += report.runs.size() == 1 ? tiles_html(rows)
                                  : table_html({.label = std::string(tr("Figures")),
                                                .columns = run_columns(report, tr("Figure")),
                                                .rows = rows,
                                                .widths = HtmlTable::Widths::even});
  return html + "</section>\n";
}

std::string legend_html(const Chart& chart) {
  if (chart.lines.empty() || chart.lines.front().name.empty()) return "";
  std::string html = "<ul class=\"legend\">";
  for (const ChartLine& line : chart.lines) {
    html += "<li>" + line_sample_svg(line.look) + html_escaped(line.name) + "</li>";
  }
  return html + "</ul>\n";
}

std::string figure_html(const Chart& chart, std::size_t number) {
  std::string caption = html_escaped(chart.title);
  if (!chart.unit.empty()) {
    caption += fmt::format(" <span class=\"unit\">({})</span>", html_escaped(chart.unit));
  }
  return fmt::format("<figure data-chart=\"{}\">\n<figcaption>{}</figcaption>\n{}{}</figure>\n",
                     chart.name, caption, chart_svg(chart, fmt::format("chart{}", number)),
                     legend_html(chart));
}

std::string chart_notes(const Report& report, const Charts& charts) {
  std::string html;
  const auto note = [&](std::string_view text) {
    html += element("p", text, "class=\"soft\"") + "\n";
  };
  if (!charts.drawn.empty()) {
    note(
        tr("Across: time since the start. Where a point stands for several samples, a shade spans "
           "the least and the most. A gap is where nothing was read."));
  }
  const bool many = report.runs.size() > 1;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    if (report.runs[i].curves.devices() > 0) continue;
    note(many ? trf("{} was given no device: of devices there is no line of it.", run_letter(i))
              : std::string(tr("It was given no device: there is nothing to draw of one.")));
  }
  const bool several = std::ranges::any_of(
      report.runs, [](const ReportRun& run) { return run.curves.devices() > 1; });
  if (many && several) {
    note(
        tr("A line is of all devices of a run: memory, power and PCIe are their sum, the rest "
           "their mean."));
  }
  for (const std::string& why : charts.not_drawn) note(trf("Not drawn: {}", why));
  return html;
}

std::string charts_html(const Report& report) {
  const Charts charts = charts_of(report);
  std::string html = "<section>\n" + element("h2", tr("Charts")) + "\n<div class=\"charts\">\n";
  std::size_t number = 0;
  for (const Chart& chart : charts.drawn) html += figure_html(chart, ++number);
  return html + "</div>\n" + chart_notes(report, charts) + "</section>\n";
}

std::string finding_html(const Finding& finding) {
  std::string html =
      fmt::format("<div class=\"finding {}\">\n<h3><span class=\"word\">{}</span> {}</h3>\n<ul>\n",
                  name_of(finding.severity), html_escaped(finding_word(finding.severity)),
                  html_escaped(finding.title.shown()));
  for (const Sentence& seen : finding.evidence) html += element("li", seen.shown()) + "\n";
  html += "</ul>\n";
  if (!finding.meaning.empty()) html += element("p", finding.meaning.shown()) + "\n";
  for (const Finding::Step& step : finding.steps) {
    if (!step.what.empty()) html += element("p", "→ " + step.what.shown()) + "\n";
    if (!step.command.empty()) html += element("code", step.command, "class=\"command\"") + "\n";
  }
  if (!finding.doubt.empty()) {
    html += element("p", trf("Not certain: {}", finding.doubt.shown()), "class=\"soft\"") + "\n";
  }
  return html + "</div>\n";
}

std::string findings_html(const Report& report) {
  std::string html;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const ReportRun& run = report.runs[i];
    if (report.runs.size() > 1) html += element("p", run_heading(report, i)) + "\n";
    if (run.findings.empty()) html += element("p", nothing_found_text()) + "\n";
    for (const Finding& finding : run.findings) html += finding_html(finding);
    if (!run.why_no_log.empty()) html += element("p", run.why_no_log, "class=\"soft\"") + "\n";
  }
  return "<section>\n" + element("h2", tr("Findings")) + "\n" + html + "</section>\n";
}

std::string notes_html(const Report& report, const Style& style) {
  std::string html = "<section>\n" + element("h2", tr("About the data")) + "\n";
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    if (report.runs.size() > 1) html += element("h3", run_heading(report, i)) + "\n";
    html += "<ul>\n";
    for (const std::string& note : notes_on(report.runs[i], style)) {
      html += element("li", note) + "\n";
    }
    html += "</ul>\n";
  }
  return html + "</section>\n";
}

}  // namespace

std::string report_html(const Report& report, const Style& style) {
  // A page is UTF-8 whatever the terminal is.
  Style page = style;
  page.utf8 = true;
  page.colour = false;
  std::string html = head_html(report) + header_html(report) + "<main>\n";
  html += figures_html(report, page) + findings_html(report) + ranks_html(report);
  html += charts_html(report);
  html += phases_html(report) + marks_html(report) + events_html(report);
  html += differences_html(report) + notes_html(report, page) + environment_html(report, page);
  html += "</main>\n<footer>\n";
  html += element("p", trf("Written by berth {} on {}. It holds all that it shows: no script, "
                           "nothing from elsewhere.",
                           BERTH_VERSION, date_time_text(report.written, page)));
  return html + "\n</footer>\n</body>\n</html>\n";
}

}  // namespace berth
