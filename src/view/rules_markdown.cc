#include "view/rules_markdown.h"

#include <fmt/format.h>

#include <span>
#include <vector>

#include "diagnose/bottleneck/bottleneck.h"
#include "diagnose/doctor/doctor.h"
#include "diagnose/postmortem/catalogue.h"
#include "diagnose/postmortem/postmortem.h"
#include "health/rules.h"

namespace berth {

namespace {

/// Names as code, "`one`, `two`"; words that stand for names as they are.
std::string names_cell(const Reported& line) {
  std::string cell;
  for (const std::string_view name : names_in({&line, 1})) {
    const bool is_name = name.find(' ') == std::string_view::npos;
    cell += (cell.empty() ? "" : ", ") + (is_name ? fmt::format("`{}`", name) : std::string(name));
  }
  return cell;
}

std::string between_marks(std::string_view part, std::string_view text) {
  return fmt::format("<!-- made by ./dev docs: {} -->\n\n{}\n<!-- end -->\n", part, text);
}

template <class Rule>
std::string table_of(std::string_view part, std::string_view head, const std::vector<Rule>& rules) {
  std::string table = fmt::format("{}\n|---|---|---|---|\n", head);
  for (const Rule& rule : rules) {
    for (const Reported& line : rule.reports) {
      if (line.names == nullptr) break;
      table += fmt::format("| {} |", names_cell(line));
      for (const char* column : line.columns) table += fmt::format(" {} |", column);
      table += "\n";
    }
  }
  return between_marks(part, table);
}

std::string catalogue_tables() {
  std::string tables;
  for (const LogFamily& family : log_catalogue()) {
    tables += fmt::format("{}**{}**\n\n| code | what it says | part |\n|---|---|---|\n",
                          tables.empty() ? "" : "\n", family.about);
    for (const LogEntry& entry : family.entries) {
      tables += fmt::format("| `{}` | {} | {} |\n", entry.code, entry.title, name_of(entry.part));
    }
  }
  return between_marks("the catalogue of error texts", tables);
}

}  // namespace

std::string rules_markdown() {
  return table_of("rules of doctor", "| rule | severity | evidence | what to try |",
                  doctor::all_rules()) +
         table_of("rules of health", "| code | state | evidence | what to try |",
                  health::all_rules()) +
         table_of("rules of explain", "| rule | what it says | evidence | what to change |",
                  bottleneck::all_rules()) +
         table_of("rules over a run", "| rule | severity | evidence | sure? |",
                  postmortem_rules()) +
         catalogue_tables();
}

}  // namespace berth
