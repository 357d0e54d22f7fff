#pragma once
// Lines of text with colours, measured in columns: what every table in view/ is put together from.
// The only file that knows escape codes, together with refresh.cc.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "view/style.h"

namespace berth {

enum class Paint { plain, dim, bold, red, green, yellow, blue };

/// Text from outside (names, commands, users), safe to put on a terminal. It is escaped by
/// printable(), and ASCII alone if the style says so.
[[nodiscard]] std::string outside(std::string_view text, const Style& style);

/// Our own or a translated text, as ASCII if the style says so. "–" becomes "-"; a character
/// without an ASCII look-alike becomes "?".
[[nodiscard]] std::string own(std::string_view text, const Style& style);

/// The text between the escape codes of its paint; itself where the style has no colour.
[[nodiscard]] std::string painted(std::string_view text, Paint paint, const Style& style);

enum class Align { left, right };

/// A text in so many columns: cut to them, with the blanks before and behind it that fill them.
struct CellText {
  std::string text;
  int before = 0;
  int after = 0;
};
/// Of a text that is outside() or own() already.
[[nodiscard]] CellText in_columns(std::string_view text, int columns, Align align,
                                  const Style& style);

/// One line of a picture. Knows how wide it is and never becomes wider than the style's width.
class Line {
 public:
  explicit Line(const Style& style) : style_(style) {}
  /// Text that is outside() or own() already.
  Line& add(std::string_view text, Paint paint = Paint::plain);
  Line& space_to(int column);
  /// The text in exactly `columns`: cut or padded.
  Line& cell(std::string_view text, int columns, Align align, Paint paint = Paint::plain);
  [[nodiscard]] int width() const { return width_; }
  /// Cut to the style's width, without spaces at the end, with a line break.
  [[nodiscard]] std::string text() const;
  /// With a sentence behind it, which is wrapped beneath itself.
  [[nodiscard]] std::string text_before(std::string_view sentence, Paint paint) const;

 private:
  struct Piece {
    std::string text;
    Paint paint;
  };
  Style style_;
  std::vector<Piece> pieces_;
  int width_ = 0;
};

/// The text broken into lines of at most the style's width, each ending in a line break. It breaks
/// at spaces and between East Asian characters. Lines after the first are indented. For sentences,
/// which are to be read whole.
[[nodiscard]] std::string wrapped(std::string_view first_indent, std::string_view text,
                                  int next_indent, const Style& style, Paint paint = Paint::plain);

/// "SIMULATED name" on a line of its own; empty: what is shown is real. Never translated: the mark
/// on a screenshot must be understood by everybody.
[[nodiscard]] std::string simulated_line(const std::optional<std::string>& server,
                                         const Style& style);
/// "! …": something does not work as it should.
[[nodiscard]] std::string warning_line(std::string_view text, const Style& style);
/// "  → …": what to do about the line above.
[[nodiscard]] std::string advice_line(std::string_view text, const Style& style,
                                      Paint paint = Paint::plain);
/// The label in `columns` and a blank at least, the value behind it and wrapped beneath itself.
[[nodiscard]] std::string labelled(std::string_view label, int columns, std::string_view value,
                                   const Style& style, Paint paint = Paint::plain);

/// What a column wants.
struct ColumnWidth {
  int wanted = 0;   // columns its widest cell takes; 0: nothing to show, dropped
  int minimum = 0;  // what it can be cut to
  /// When room is short, the highest goes first; 0 stays. From `luxury` up it goes as soon as the
  /// others would have to be cut for it.
  int drop_order = 0;
  static constexpr int luxury = 10;
};
/// Widths (0: dropped) that fit into `width` with `gap` spaces between columns.
[[nodiscard]] std::vector<int> fitted(const std::vector<ColumnWidth>& wanted, int width, int gap);

}  // namespace berth
