#pragma once
// The tables of a report's HTML.

#include <string>
#include <string_view>
#include <vector>

#include "view/report/figures.h"

namespace berth {

struct HtmlTable {
  std::string label;                 // what it is, for readers who cannot see it
  std::vector<std::string> columns;  // the heading of the row's name, then those of its values
  std::vector<FigureRow> rows;
  /// `even` names of one width; `comparing` as well, and rows whose values differ stand out.
  enum class Widths { as_it_comes, even, comparing };
  Widths widths = Widths::as_it_comes;
};
/// All of it escaped here. A wide one scrolls by itself, by keyboard too.
[[nodiscard]] std::string table_html(const HtmlTable& table);

// Sections; empty where there is nothing to tell.
[[nodiscard]] std::string ranks_html(const Report& report);
[[nodiscard]] std::string phases_html(const Report& report);
[[nodiscard]] std::string marks_html(const Report& report);
[[nodiscard]] std::string events_html(const Report& report);
[[nodiscard]] std::string differences_html(const Report& report);
[[nodiscard]] std::string environment_html(const Report& report, const Style& style);

}  // namespace berth
