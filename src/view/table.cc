#include "view/table.h"

#include <algorithm>

#include "base/text.h"
#include "base/tr.h"
#include "view/values.h"

namespace berth {

Table::Table(std::span<const TableColumn> columns, std::vector<TableRow> rows, int gap,
             const Style& style, int width)
    : columns_(columns), rows_(std::move(rows)), gap_(gap), style_(style) {
  std::vector<ColumnWidth> wanted;
  for (std::size_t at = 0; at < columns_.size(); ++at) wanted.push_back(measured(at));
  widths_ = fitted(wanted, width > 0 ? width : style.width, gap_);
}

ColumnWidth Table::measured(std::size_t at) const {
  const TableColumn& column = columns_[at];
  ColumnWidth width{display_width(own(tr(column.header), style_)),
                    column.wraps ? 1 : column.minimum, column.drop_order};
  bool filled = column.when_empty == WhenEmpty::stays;
  for (const TableRow& row : rows_) {
    const std::string& text = row[at].text;
    width.wanted = std::max(width.wanted, display_width(text));
    const bool says_nothing =
        column.when_empty == WhenEmpty::absent_goes && text == absent_mark(style_);
    filled = filled || (!text.empty() && !says_nothing);
  }
  width.wanted = filled ? std::max(std::min(width.wanted, column.most), column.least) : 0;
  return width;
}

void Table::add_to(Line& line, const TableRow& row, std::size_t begin, std::size_t end) const {
  const std::string gap(static_cast<std::size_t>(gap_), ' ');
  for (std::size_t at = begin; at < std::min(end, columns_.size()); ++at) {
    if (widths_[at] == 0) continue;
    line.cell(row[at].text, widths_[at], columns_[at].align, row[at].paint).add(gap);
  }
}

std::string Table::drawn(const TableRow& row) const {
  Line line(style_);
  const bool wraps = columns_.back().wraps;
  add_to(line, row, 0, columns_.size() - (wraps ? 1 : 0));
  return wraps ? line.text_before(row.back().text, row.back().paint) : line.text();
}

std::string Table::line(std::size_t row) const { return drawn(rows_[row]); }

std::string Table::head() const {
  TableRow heads;
  for (const TableColumn& column : columns_) {
    heads.emplace_back(own(tr(column.header), style_), Paint::dim);
  }
  return drawn(heads);
}

std::string Table::rows_text() const {
  std::string text;
  for (const TableRow& row : rows_) text += drawn(row);
  return text;
}

}  // namespace berth
