#include "view/report/html_tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/tr.h"
#include "view/report/chart.h"
#include "view/report/markup.h"

namespace berth {

namespace {

bool values_differ(const FigureRow& row) {
  return std::ranges::adjacent_find(row.values, std::not_equal_to{}) != row.values.end();
}

std::string row_html(const FigureRow& row, bool marks_differences) {
  std::string html = marks_differences && values_differ(row) ? "<tr class=\"differs\">" : "<tr>";
  html += element("th", row.label, "scope=\"row\"");
  for (const std::string& value : row.values) html += element("td", value.empty() ? "–" : value);
  return html + "</tr>\n";
}

/// A section with one part per run that has something to tell.
template <class Part>
std::string section_per_run(const Report& report, std::string_view heading, Part part) {
  std::string html;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    // Another region may be of the same run, so a region's name also says what it shows.
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

}  // namespace

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

}  // namespace berth
