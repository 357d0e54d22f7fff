#include "top/screen.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace berth::top {

namespace {

/// Twice as many each time, as whole blocks of memory.
void fill_cells(std::span<Cell> cells, Cell with) {
  if (cells.empty()) return;
  cells.front() = with;
  for (std::size_t done = 1; done < cells.size();) {
    const std::size_t more = std::min(done, cells.size() - done);
    std::memcpy(&cells[done], cells.data(), more * sizeof(Cell));
    done += more;
  }
}

}  // namespace

Screen::Screen(Size size) { clear(size); }

void Screen::clear(Size size) {
  size_ = {std::max(size.columns, 0), std::max(size.rows, 0)};
  cells_.resize(static_cast<std::size_t>(size_.columns) * static_cast<std::size_t>(size_.rows));
  fill_cells(cells_, Cell{});
}

void Screen::leave_no_right_half(int column, int row) {
  if (column < size_.columns && cell(column, row).is_right_half()) cell(column, row) = Cell{};
}

int Screen::put(int column, int row, std::string_view text, Tone tone, int columns) {
  if (row < 0 || row >= size_.rows || column < 0) return column;
  const int end = static_cast<int>(
      std::min<std::int64_t>(size_.columns, static_cast<std::int64_t>(column) + columns));
  const int begin = column;
  const bool cuts_left = begin > 0 && begin < end && cell(begin, row).is_right_half();
  const Cell blank{.bytes = {}, .tone = tone};
  Cell* const cells =
      cells_.data() + static_cast<std::size_t>(row) * static_cast<std::size_t>(size_.columns);
  const auto set = [&](int at, std::string_view character) {
    cells[at] = blank;
    for (std::size_t i = 0; i < character.size(); ++i) cells[at].bytes[i] = character[i];
  };
  std::string safe;
  bool is_safe = false;
  while (!text.empty()) {
    if (const std::size_t bytes = plain_character_bytes(text); bytes > 0) {
      if (column >= end) break;
      set(column++, text.substr(0, bytes));
      text.remove_prefix(bytes);
      continue;
    }
    if (!std::exchange(is_safe, true)) {
      safe = printable(text);
      text = safe;
      continue;
    }
    const std::string_view character = text.substr(0, character_length(text));
    text.remove_prefix(character.size());
    const int width = display_width(character);
    if (width == 0) {
      put_mark(column, row, character);
      continue;
    }
    if (column + width > end) break;
    set(column, character);
    if (width == 2) {
      cells[column].width = 2;
      cells[column + 1] = Cell{.bytes = {}, .width = 0, .tone = tone};
    }
    column += width;
  }
  // What is written over whole needs no blanks: only the run's two ends can halve a wide one.
  if (column > begin && cuts_left) cells[begin - 1] = Cell{};
  if (column > begin) leave_no_right_half(column, row);
  return column;
}

/// On the character before.
void Screen::put_mark(int column, int row, std::string_view mark) {
  Cell* before = column > 0 && column <= size_.columns ? &cell(column - 1, row) : nullptr;
  if (before != nullptr && before->is_right_half() && column > 1) before = &cell(column - 2, row);
  if (before == nullptr) return;
  const std::size_t had = before->text().size();
  if (had + mark.size() > before->bytes.size()) return;
  std::ranges::copy(mark, before->bytes.begin() + had);
}

void Screen::fill(int column, int row, int columns, Tone tone) {
  if (row < 0 || row >= size_.rows || column < 0 || column >= size_.columns || columns <= 0) return;
  const int end = std::min(columns, size_.columns - column) + column;
  if (cell(column, row).is_right_half() && column > 0) cell(column - 1, row) = Cell{};
  fill_cells({&cell(column, row), static_cast<std::size_t>(end - column)}, Cell{.tone = tone});
  leave_no_right_half(end, row);
}

std::string Screen::text() const {
  std::string all;
  for (int row = 0; row < size_.rows; ++row) {
    std::string line;
    for (int column = 0; column < size_.columns; ++column) line += at(column, row).text();
    line.erase(line.find_last_not_of(' ') + 1);
    all += line + "\n";
  }
  return all;
}

}  // namespace berth::top
