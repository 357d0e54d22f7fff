#pragma once
// A table of text for people: says what its columns are, takes the rows, and finds the widths that
// fit.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "view/paint.h"

namespace berth {

/// Its text is outside() or own() already.
struct TableCell {
  std::string text;
  Paint paint = Paint::plain;

  TableCell() = default;
  TableCell(std::string words, Paint colour = Paint::plain)  // NOLINT(*-explicit-*): a cell is text
      : text(std::move(words)), paint(colour) {}
};
using TableRow = std::vector<TableCell>;

/// What to do with a column in which no row has anything. `absent_goes`: or no row has anything but
/// an absent_mark().
enum class WhenEmpty { stays, goes, absent_goes };

struct TableColumn {
  std::string_view header = {};  // goes through tr(); a list has none
  Align align = Align::left;
  /// What it can be cut to. `whole`: never cut, for half a number is a wrong number.
  int minimum = whole;
  int drop_order = 0;  // see ColumnWidth
  WhenEmpty when_empty = WhenEmpty::stays;
  int most = whole;  // wider than this it never is
  int least = 0;     // nor narrower, where it is shown
  /// For a last column of sentences: what does not fit stands beneath itself, and is not cut.
  bool wraps = false;
  static constexpr int whole = 1 << 20;
};

class Table {
 public:
  /// The columns outlive it. `gap`: spaces between two of them. `width`: 0: the style's.
  Table(std::span<const TableColumn> columns, std::vector<TableRow> rows, int gap,
        const Style& style, int width = 0);

  /// The width of each column; 0: not shown.
  [[nodiscard]] const std::vector<int>& widths() const { return widths_; }
  [[nodiscard]] std::string head() const;
  [[nodiscard]] std::string line(std::size_t row) const;
  /// Adds cells (those from `begin` to before `end`) to a line that has something else as well.
  void add_to(Line& line, const TableRow& row, std::size_t begin = 0,
              std::size_t end = std::string::npos) const;
  /// The head, then each row.
  [[nodiscard]] std::string text() const { return head() + rows_text(); }
  /// Of a list, whose columns speak for themselves.
  [[nodiscard]] std::string rows_text() const;

 private:
  [[nodiscard]] ColumnWidth measured(std::size_t at) const;
  [[nodiscard]] std::string drawn(const TableRow& row) const;

  std::span<const TableColumn> columns_;
  std::vector<TableRow> rows_;
  int gap_;
  Style style_;
  std::vector<int> widths_;
};

}  // namespace berth
