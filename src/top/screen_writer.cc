#include "top/screen_writer.h"

#include <array>
#include <charconv>
#include <cstring>
#include <type_traits>

namespace berth::top {

namespace {

// "Synchronized output" shows a large change at once instead of from top to bottom. A terminal that
// does not know it ignores it.
constexpr std::string_view begin_update = "\033[?2026h";
constexpr std::string_view end_update = "\033[?2026l";
constexpr std::size_t large = 1024;
/// Unchanged cells that are cheaper to write again than to jump over.
constexpr int small_gap = 6;

class Writer {
 public:
  explicit Writer(Theme theme) : theme_(theme) {}

  void clear() { out_ += "\033[0m\033[2J"; }
  void cell(const Cell& cell, int column, int row) {
    if (cell.is_right_half()) return;  // came with its left half
    if (row != row_ || column != column_) {
      out_ += "\033[";
      add_number(row + 1);
      out_ += ';';
      add_number(column + 1);
      out_ += 'H';
    }
    if (!painted_ || cell.tone != tone_) {
      const std::string_view colours = colours_of(cell.tone, theme_);
      out_ += colours.empty() ? "\033[0" : "\033[0;";
      out_ += colours;
      out_ += 'm';
      painted_ = true;
      tone_ = cell.tone;
    }
    out_ += cell.text();
    row_ = row;
    column_ = column + cell.width;
  }
  [[nodiscard]] bool is_near(int column, int row) const {
    return row == row_ && column >= column_ && column - column_ <= small_gap;
  }
  [[nodiscard]] int column() const { return column_; }
  [[nodiscard]] std::string finish() {
    if (out_.empty()) return {};
    out_ += "\033[0m";
    if (out_.size() < large) return std::move(out_);
    return std::string(begin_update) + out_ + std::string(end_update);
  }

 private:
  void add_number(int number) {
    std::array<char, 12> digits{};
    out_.append(digits.data(), std::to_chars(digits.begin(), digits.end(), number).ptr);
  }

  Theme theme_;
  std::string out_;
  bool painted_ = false;
  Tone tone_ = Tone::plain;
  int row_ = -1;
  int column_ = -1;
};

}  // namespace

std::string changes(const Screen* before, const Screen& now, Theme theme) {
  Screen blank;
  Writer writer(theme);
  if (before == nullptr || before->size() != now.size()) {
    writer.clear();
    blank = Screen(now.size());
    before = &blank;
  }
  for (int row = 0; row < now.size().rows; ++row) {
    const std::span<const Cell> cells = now.row(row);
    const std::span<const Cell> had = before->row(row);
    static_assert(std::has_unique_object_representations_v<Cell>);
    if (std::memcmp(cells.data(), had.data(), cells.size_bytes()) == 0) continue;
    for (int column = 0; column < now.size().columns; ++column) {
      const auto at = static_cast<std::size_t>(column);
      if (cells[at] == had[at]) continue;
      if (writer.is_near(column, row)) {
        for (int c = writer.column(); c < column; ++c) writer.cell(now.at(c, row), c, row);
      }
      writer.cell(cells[at], column, row);
    }
  }
  return writer.finish();
}

std::string_view enter_sequence() {
  return "\033[?1049h\033[?25l\033[?7l\033[?1000h\033[?1006h\033[?2004h";
}

std::string_view leave_sequence() {
  return "\033[?2026l\033[?2004l\033[?1006l\033[?1000l\033[?7h\033[0m\033[?25h\033[?1049l";
}

}  // namespace berth::top
