#include "top/screen.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace berth::top {

namespace {

bool is_plain_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

std::size_t character_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  return std::min(length, text.size());
}

}  // namespace

Screen::Screen(Size size)
    : size_{std::max(size.columns, 0), std::max(size.rows, 0)},
      cells_(static_cast<std::size_t>(size_.columns) * static_cast<std::size_t>(size_.rows),
             Cell{}) {}

// Whoever writes over half of a wide character leaves a blank for the other half.
void Screen::split_wide(int column, int row) {
  if (cell(column, row).length == 0 && column > 0) cell(column - 1, row) = Cell{};
  if (cell(column, row).width == 2 && column + 1 < size_.columns) cell(column + 1, row) = Cell{};
}

int Screen::put(int column, int row, std::string_view text, Tone tone, int columns) {
  if (row < 0 || row >= size_.rows || column < 0) return column;
  std::string safe;
  if (!is_plain_ascii(text)) {
    safe = printable(text);
    text = safe;
  }
  const int end = static_cast<int>(
      std::min<std::int64_t>(size_.columns, static_cast<std::int64_t>(column) + columns));
  while (!text.empty()) {
    const std::string_view character = text.substr(0, character_length(text));
    text.remove_prefix(character.size());
    const int width = character.size() == 1 ? 1 : display_width(character);
    if (width == 0) {  // a mark on the character before
      Cell* before = column > 0 && column <= size_.columns ? &cell(column - 1, row) : nullptr;
      if (before != nullptr && before->length == 0 && column > 1) before = &cell(column - 2, row);
      if (before == nullptr || before->length + character.size() > before->bytes.size()) continue;
      std::memcpy(before->bytes.data() + before->length, character.data(), character.size());
      before->length = static_cast<std::uint8_t>(before->length + character.size());
      continue;
    }
    if (column + width > end) break;
    split_wide(column, row);
    if (width == 2) split_wide(column + 1, row);
    Cell& here = cell(column, row);
    here = Cell{.bytes = {},
                .length = static_cast<std::uint8_t>(character.size()),
                .width = static_cast<std::uint8_t>(width),
                .tone = tone};
    std::memcpy(here.bytes.data(), character.data(), character.size());
    if (width == 2) {
      cell(column + 1, row) = Cell{.bytes = {}, .length = 0, .width = 0, .tone = tone};
    }
    column += width;
  }
  return column;
}

void Screen::fill(int column, int row, int columns, Tone tone) {
  if (columns <= 0) return;
  put(column, row, std::string(static_cast<std::size_t>(std::min(columns, size_.columns)), ' '),
      tone, columns);
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
