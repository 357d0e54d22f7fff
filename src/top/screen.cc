#include "top/screen.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace berth::top {

namespace {

std::size_t character_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  return std::min(length, text.size());
}

/// U+00A0 to U+00FF: the "·" of a meter, "°".
constexpr std::size_t latin_bytes = 2;

/// How many bytes a character at the front has that takes one column and needs no further look; 0:
/// it does. `is_safe`: the text is printable().
std::size_t plain_bytes(std::string_view text, bool is_safe) {
  if (text.front() >= 0x20 && text.front() < 0x7F) return 1;
  if (starts_with_drawing(text)) return drawing_bytes;
  const bool is_latin = is_safe && (text.front() == '\xC2' || text.front() == '\xC3');
  return is_latin && text.size() >= latin_bytes ? latin_bytes : 0;
}

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

void Screen::blank_other_half(int column, int row) {
  if (cell(column, row).is_right_half() && column > 0) cell(column - 1, row) = Cell{};
  if (cell(column, row).width == 2 && column + 1 < size_.columns) cell(column + 1, row) = Cell{};
}

int Screen::put(int column, int row, std::string_view text, Tone tone, int columns) {
  if (row < 0 || row >= size_.rows || column < 0) return column;
  const int end = static_cast<int>(
      std::min<std::int64_t>(size_.columns, static_cast<std::int64_t>(column) + columns));
  std::string safe;
  bool is_safe = false;
  while (!text.empty()) {
    const std::size_t bytes = plain_bytes(text, is_safe);
    if (bytes > 0) {
      if (column >= end) break;
      switch (bytes) {
        case 1:
          put_narrow(column, row, text.data(), 1, tone);
          break;
        case latin_bytes:
          put_narrow(column, row, text.data(), latin_bytes, tone);
          break;
        default:
          put_narrow(column, row, text.data(), drawing_bytes, tone);
      }
      text.remove_prefix(bytes);
      ++column;
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
    put_narrow(column, row, character.data(), character.size(), tone);
    if (width == 2) {
      cell(column, row).width = 2;
      split_wide(column + 1, row);
      cell(column + 1, row) = Cell{.bytes = {}, .width = 0, .tone = tone};
    }
    column += width;
  }
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
  const int last = std::min(columns, size_.columns - column) + column - 1;
  split_wide(column, row);
  split_wide(last, row);
  fill_cells({&cell(column, row), static_cast<std::size_t>(last - column + 1)}, Cell{.tone = tone});
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
