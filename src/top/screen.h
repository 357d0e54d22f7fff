#pragma once
// Screen: a picture as cells. Whatever is put on it comes out harmless. Control characters, escape
// sequences and broken UTF-8 become visible escapes. So no name or command reaches the terminal
// raw, even if a caller forgot to escape it.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "top/theme.h"

namespace berth::top {

struct Size {
  int columns = 80;
  int rows = 24;
  friend bool operator==(const Size&, const Size&) = default;
};

/// One character on the screen. A wide one has an empty cell behind it.
struct Cell {
  std::array<char, 6> bytes{' '};  // what is left over is zero; marks beyond that are left out
  std::uint8_t width = 1;          // 0: the right half of the wide character before it
  Tone tone = Tone::plain;

  [[nodiscard]] std::string_view text() const {
    return {bytes.data(), static_cast<std::size_t>(std::ranges::find(bytes, '\0') - bytes.begin())};
  }
  [[nodiscard]] bool is_right_half() const { return width == 0; }
  /// Nearly all of a look's cells are those of the look before: a word against a word.
  friend bool operator==(const Cell& a, const Cell& b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  }
};

class Screen {
 public:
  Screen() : Screen(Size{0, 0}) {}
  explicit Screen(Size size);

  /// A blank one of that size, in the memory it has.
  void clear(Size size);

  [[nodiscard]] Size size() const { return size_; }
  [[nodiscard]] std::span<const Cell> row(int row) const {
    const auto columns = static_cast<std::size_t>(size_.columns);
    return std::span(cells_).subspan(static_cast<std::size_t>(row) * columns, columns);
  }
  [[nodiscard]] const Cell& at(int column, int row) const {
    return cells_[static_cast<std::size_t>(row) * static_cast<std::size_t>(size_.columns) +
                  static_cast<std::size_t>(column)];
  }

  /// Writes the text from there on, at most `columns` of it, and returns the column after it. What
  /// lies outside of the screen is left out; a wide character is never halved.
  int put(int column, int row, std::string_view text, Tone tone, int columns);
  int put(int column, int row, std::string_view text, Tone tone = Tone::plain) {
    return put(column, row, text, tone, size_.columns);
  }
  /// Blanks of a tone.
  void fill(int column, int row, int columns, Tone tone);

  /// The characters alone, a line per row, without spaces at the ends.
  [[nodiscard]] std::string text() const;

 private:
  [[nodiscard]] Cell& cell(int column, int row) {
    return cells_[static_cast<std::size_t>(row) * static_cast<std::size_t>(size_.columns) +
                  static_cast<std::size_t>(column)];
  }
  /// A blank for a right half there whose left one has just been written over.
  void leave_no_right_half(int column, int row);
  void put_mark(int column, int row, std::string_view mark);

  Size size_;
  std::vector<Cell> cells_;
};

}  // namespace berth::top
