#include "top/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace berth::top {

namespace {

// U+2800 and a bit per dot: columns from the left, rows from above.
constexpr std::array<std::array<std::uint8_t, 4>, 2> braille_bits = {
    {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}};

std::string braille(std::uint8_t dots) {
  if (dots == 0) return " ";
  return {static_cast<char>(0xE2), static_cast<char>(0xA0 | (dots >> 6)),
          static_cast<char>(0x80 | (dots & 0x3F))};
}

struct Grid {
  int columns;
  int rows;
  std::vector<bool> dots;
  [[nodiscard]] bool at(int column, int row) const {
    return dots[static_cast<std::size_t>(row * columns + column)];
  }
  void set(int column, int row) { dots[static_cast<std::size_t>(row * columns + column)] = true; }
};

/// The row of dots, from above, that a value falls into.
int row_of(float value, float top, int rows) {
  if (!(top > 0) || !std::isfinite(value)) return rows - 1;
  const float share = std::clamp(value / top, 0.0F, 1.0F);
  return rows - 1 - std::min(rows - 1, static_cast<int>(share * static_cast<float>(rows)));
}

Grid drawn(const std::vector<std::optional<Range>>& values, float top, int columns, int rows) {
  Grid grid{columns, rows, std::vector<bool>(static_cast<std::size_t>(columns * rows))};
  std::optional<std::pair<int, int>> before;  // upper and lower row of the column to the left
  const int given = static_cast<int>(values.size());
  for (int column = 0; column < columns; ++column) {
    const int index = given - columns + column;
    const std::optional<Range> range =
        index >= 0 ? values[static_cast<std::size_t>(index)] : std::nullopt;
    if (!range) {
      before.reset();
      continue;
    }
    int upper = row_of(range->most, top, rows);
    int lower = row_of(range->least, top, rows);
    const auto own = std::pair(upper, lower);
    if (before) {  // reach down or up to what stands to the left
      if (before->second < upper) upper = before->second + 1;
      if (before->first > lower) lower = before->first - 1;
    }
    for (int row = upper; row <= lower; ++row) grid.set(column, row);
    before = own;
  }
  return grid;
}

}  // namespace

int dot_columns(int cells, Dots dots) { return dots == Dots::braille ? cells * 2 : cells; }

std::vector<std::string> chart(const std::vector<std::optional<Range>>& columns, float top,
                               int cells, int rows, Dots dots) {
  if (cells <= 0 || rows <= 0) return {};
  const int high = dots == Dots::braille ? 4 : 2;
  const Grid grid = drawn(columns, top, dot_columns(cells, dots), rows * high);
  std::vector<std::string> lines(static_cast<std::size_t>(rows));
  for (int row = 0; row < rows; ++row) {
    std::string& line = lines[static_cast<std::size_t>(row)];
    for (int cell = 0; cell < cells; ++cell) {
      if (dots == Dots::ascii) {
        const bool upper = grid.at(cell, row * 2);
        const bool lower = grid.at(cell, row * 2 + 1);
        line += upper ? (lower ? ':' : '\'') : (lower ? '.' : ' ');
        continue;
      }
      std::uint8_t bits = 0;
      for (int x = 0; x < 2; ++x) {
        for (int y = 0; y < 4; ++y) {
          if (!grid.at(cell * 2 + x, row * 4 + y)) continue;
          bits = static_cast<std::uint8_t>(
              bits | braille_bits.at(static_cast<std::size_t>(x)).at(static_cast<std::size_t>(y)));
        }
      }
      line += braille(bits);
    }
  }
  return lines;
}

}  // namespace berth::top
