#include "top/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <span>

namespace berth::top {

namespace {

// U+2800 and a bit per dot: columns from the left, rows from above.
constexpr std::array<std::array<std::uint8_t, 4>, 2> braille_bits = {
    {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}};

void add_braille(std::uint8_t dots, std::string& line) {
  if (dots == 0) {
    line += ' ';
    return;
  }
  const std::array<char, 3> bytes = {'\xE2', static_cast<char>(0xA0 | (dots >> 6)),
                                     static_cast<char>(0x80 | (dots & 0x3F))};
  line.append(bytes.data(), bytes.size());
}

/// The dots of each cell, as bits.
struct Grid {
  Dots dots;
  int cells;  // in a row
  std::vector<std::uint8_t> bits;
  void set(int column, int row) {
    dots == Dots::braille ? set_in<2, 4>(column, row) : set_in<1, 2>(column, row);
  }
  template <int wide, int high>
  void set_in(int column, int row) {
    auto& cell = bits[static_cast<std::size_t>(row / high * cells + column / wide)];
    const std::uint8_t dot =
        braille_bits[static_cast<std::size_t>(column % wide)][static_cast<std::size_t>(row % high)];
    cell = static_cast<std::uint8_t>(cell | dot);
  }
};

void add_ascii(std::uint8_t dots, std::string& line) {
  const bool upper = (dots & braille_bits[0][0]) != 0;
  const bool lower = (dots & braille_bits[0][1]) != 0;
  line += upper ? (lower ? ':' : '\'') : (lower ? '.' : ' ');
}

/// The row of dots, from above, that a value falls into.
int row_of(float value, float top, int rows) {
  if (!(top > 0) || !std::isfinite(value)) return rows - 1;
  const float share = std::clamp(value / top, 0.0F, 1.0F);
  return rows - 1 - std::min(rows - 1, static_cast<int>(share * static_cast<float>(rows)));
}

Grid drawn(const std::vector<Aggregate<float>>& values, float top, int cells, int cell_rows,
           Dots dots) {
  const int columns = dot_columns(cells, dots);
  const int rows = cell_rows * (dots == Dots::braille ? 4 : 2);
  Grid grid{dots, cells, std::vector<std::uint8_t>(static_cast<std::size_t>(cells * cell_rows))};
  std::optional<std::pair<int, int>> before;  // upper and lower row of the column to the left
  const int given = static_cast<int>(values.size());
  for (int column = 0; column < columns; ++column) {
    const int index = given - columns + column;
    const Aggregate<float> range =
        index >= 0 ? values[static_cast<std::size_t>(index)] : Aggregate<float>();
    if (range.is_empty()) {
      before.reset();
      continue;
    }
    int upper = row_of(range.most(), top, rows);
    int lower = row_of(range.least(), top, rows);
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

std::vector<std::string> chart(const std::vector<Aggregate<float>>& columns, float top, int cells,
                               int rows, Dots dots) {
  if (cells <= 0 || rows <= 0) return {};
  const Grid grid = drawn(columns, top, cells, rows, dots);
  std::vector<std::string> lines(static_cast<std::size_t>(rows));
  std::span<const std::uint8_t> rest = grid.bits;
  for (std::string& line : lines) {
    const auto row = rest.first(static_cast<std::size_t>(cells));
    rest = rest.subspan(row.size());
    const auto is_blank = [](std::uint8_t dots_of_cell) { return dots_of_cell == 0; };
    const auto first = std::ranges::find_if_not(row, is_blank);
    const auto end = std::find_if_not(row.rbegin(), std::reverse_iterator(first), is_blank).base();
    line.reserve(row.size() + static_cast<std::size_t>(end - first) * 2);
    line.append(static_cast<std::size_t>(first - row.begin()), ' ');
    for (const std::uint8_t bits : std::span(first, end)) {
      dots == Dots::braille ? add_braille(bits, line) : add_ascii(bits, line);
    }
    line.append(static_cast<std::size_t>(row.end() - end), ' ');
  }
  return lines;
}

}  // namespace berth::top
