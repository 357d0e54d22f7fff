#include "view/paint.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <utility>

#include "base/text.h"

namespace berth {

namespace {

std::string_view code_of(Paint paint) {
  switch (paint) {
    case Paint::plain:
      return "";
    case Paint::dim:
      return "\033[2m";
    case Paint::bold:
      return "\033[1m";
    case Paint::red:
      return "\033[31m";
    case Paint::green:
      return "\033[32m";
    case Paint::yellow:
      return "\033[33m";
    case Paint::blue:
      return "\033[36m";  // cyan: blue itself is unreadable on a black ground
  }
  return "";
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 9> ascii_forms = {{
    {"–", "-"},
    {"—", "-"},
    {"…", "..."},
    {"°", ""},
    {"·", "."},
    {"×", "x"},
    {"≥", ">="},
    {"“", "\""},
    {"”", "\""},
}};

std::string ascii_only(std::string_view text) {
  std::string ascii;
  while (!text.empty()) {
    const std::string_view character = text.substr(0, character_length(text));
    text.remove_prefix(character.size());
    if (character.size() == 1) {
      ascii += character;
      continue;
    }
    const auto found = std::find_if(ascii_forms.begin(), ascii_forms.end(),
                                    [&](const auto& form) { return form.first == character; });
    ascii += found == ascii_forms.end() ? "?" : found->second;
  }
  return ascii;
}

/// Chinese marks: none of the first begins a line, and none of the last ends one.
constexpr std::string_view never_first = "，。；：、！？）”」》";
constexpr std::string_view never_last = "（“「《";

/// What wrapped() must not tear apart: a run of narrow characters, or one wide character. The marks
/// that stay with it belong to it.
std::string_view take_unbreakable(std::string_view& text) {
  std::size_t length = 0;
  std::string_view before;
  while (length < text.size() && text[length] != ' ') {
    const std::string_view next = text.substr(length, character_length(text.substr(length)));
    const bool is_between_wide = display_width(before) > 1 || display_width(next) > 1;
    const bool stays = next.size() > 1 && never_first.find(next) != never_first.npos;
    const bool holds = before.size() > 1 && never_last.find(before) != never_last.npos;
    if (length > 0 && is_between_wide && !stays && !holds) break;
    length += next.size();
    before = next;
  }
  const std::string_view taken = text.substr(0, length);
  text.remove_prefix(length);
  return taken;
}

int sum_with_gaps(const std::vector<int>& widths, int gap) {
  const auto shown = std::count_if(widths.begin(), widths.end(), [](int w) { return w > 0; });
  const int gaps = shown > 0 ? static_cast<int>(shown - 1) * gap : 0;
  return std::accumulate(widths.begin(), widths.end(), gaps);
}

}  // namespace

std::string own(std::string_view text, const Style& style) {
  return style.utf8 ? std::string(text) : ascii_only(text);
}

std::string outside(std::string_view text, const Style& style) {
  return own(printable(text), style);
}

std::string painted(std::string_view text, Paint paint, const Style& style) {
  if (!style.colour || paint == Paint::plain || text.empty()) return std::string(text);
  return std::string(code_of(paint)) + std::string(text) + "\033[0m";
}

Line& Line::add(std::string_view text, Paint paint) {
  if (text.empty()) return *this;
  width_ += display_width(text);
  pieces_.push_back({std::string(text), paint});
  return *this;
}

Line& Line::space_to(int column) {
  if (column > width_) add(std::string(static_cast<std::size_t>(column - width_), ' '));
  return *this;
}

CellText in_columns(std::string_view text, int columns, Align align, const Style& style) {
  CellText cell{cut_to_width(text, columns, !style.utf8)};
  const int blank = std::max(0, columns - display_width(cell.text));
  (align == Align::right ? cell.before : cell.after) = blank;
  return cell;
}

Line& Line::cell(std::string_view text, int columns, Align align, Paint paint) {
  const CellText cell = in_columns(text, columns, align, style_);
  space_to(width_ + cell.before).add(cell.text, paint);
  return space_to(width_ + cell.after);
}

std::string Line::text() const {
  std::size_t last = pieces_.size();
  while (last > 0 && pieces_[last - 1].text.find_first_not_of(' ') == std::string::npos) --last;
  std::string line;
  int room = style_.width;
  for (std::size_t i = 0; i < last; ++i) {
    std::string piece = pieces_[i].text;
    if (i + 1 == last) piece.erase(piece.find_last_not_of(' ') + 1);
    const int width = display_width(piece);
    // The following pieces need at least one column to say that they were cut.
    const bool more_follows = i + 1 < last && width >= room;
    if (width > room || more_follows) {
      line += painted(cut_to_width(piece + (more_follows ? " +" : ""), room, !style_.utf8),
                      pieces_[i].paint, style_);
      break;
    }
    line += painted(piece, pieces_[i].paint, style_);
    room -= width;
  }
  return line + "\n";
}

std::string Line::text_before(std::string_view sentence, Paint paint) const {
  if (sentence.empty()) return text();
  const std::string indent(static_cast<std::size_t>(width_), ' ');
  const std::string beneath = wrapped(indent, sentence, width_, style_);
  std::string all;
  for (const Piece& piece : pieces_) all += painted(piece.text, piece.paint, style_);
  std::size_t written = indent.size();  // of the first line, whose indent the pieces are
  for (const std::string_view line : split(std::string_view(beneath), '\n')) {
    if (line.empty()) continue;
    const std::size_t blanks = std::max(line.find_first_not_of(' '), written);
    all += line.substr(written, blanks - written);
    all += painted(line.substr(blanks), paint, style_) + "\n";
    written = 0;
  }
  return all;
}

std::string wrapped(std::string_view first_indent, std::string_view text, int next_indent,
                    const Style& style, Paint paint) {
  const int width = std::max(style.width, 8);
  const auto indent = static_cast<std::size_t>(std::min(next_indent, width / 2));
  std::string all;
  std::string line(first_indent);
  bool fresh = true;  // nothing but the indent on this line yet
  const auto end_line = [&] {
    line.erase(line.find_last_not_of(' ') + 1);
    all += painted(line, paint, style) + "\n";
    line.assign(indent, ' ');
    fresh = true;
  };
  while (!text.empty()) {
    const std::size_t spaces = std::min(text.find_first_not_of(' '), text.size());
    text.remove_prefix(spaces);
    std::string_view word = take_unbreakable(text);
    if (word.empty()) break;
    const int before = spaces > 0 && !fresh ? 1 : 0;
    if (!fresh && display_width(line) + before + display_width(word) > width) end_line();
    if (before > 0 && !fresh) line += ' ';
    while (!word.empty()) {  // a word longer than a line is torn, a path can still be pasted
      const std::string_view character = word.substr(0, character_length(word));
      if (display_width(line) + display_width(character) > width && !fresh) end_line();
      line += character;
      fresh = false;
      word.remove_prefix(character.size());
    }
  }
  end_line();
  return all;
}

std::string simulated_line(const std::optional<std::string>& server, const Style& style) {
  if (!server) return "";
  return Line(style).add("SIMULATED " + outside(*server, style), Paint::yellow).text();
}

std::string warning_line(std::string_view text, const Style& style) {
  return wrapped("! ", text, 2, style, Paint::yellow);
}

std::string advice_line(std::string_view text, const Style& style, Paint paint) {
  return wrapped(style.utf8 ? "  → " : "  > ", text, 4, style, paint);
}

std::string labelled(std::string_view label, int columns, std::string_view value,
                     const Style& style, Paint paint) {
  std::string start(label);
  start.append(static_cast<std::size_t>(std::max(columns - display_width(start), 1)), ' ');
  return wrapped(start, value, display_width(start), style, paint);
}

std::vector<int> fitted(const std::vector<ColumnWidth>& wanted, int width, int gap) {
  std::vector<int> widths;
  std::vector<int> minima;
  for (const ColumnWidth& one : wanted) {
    widths.push_back(one.wanted);
    minima.push_back(std::min(one.minimum, one.wanted));
  }
  const auto drop_one = [&](int from) {
    std::size_t worst = wanted.size();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (widths[i] == 0 || wanted[i].drop_order < from) continue;
      if (worst == wanted.size() || wanted[i].drop_order > wanted[worst].drop_order) worst = i;
    }
    if (worst == wanted.size()) return false;
    widths[worst] = minima[worst] = 0;
    return true;
  };
  while (sum_with_gaps(widths, gap) > width && drop_one(ColumnWidth::luxury)) {
  }
  while (sum_with_gaps(minima, gap) > width && drop_one(1)) {
  }
  for (int excess = sum_with_gaps(widths, gap) - width; excess > 0; --excess) {
    std::size_t widest = 0;  // by what it can give
    for (std::size_t i = 1; i < widths.size(); ++i) {
      if (widths[i] - minima[i] > widths[widest] - minima[widest]) widest = i;
    }
    if (widths[widest] <= minima[widest]) break;  // the rest is cut at the line's end
    --widths[widest];
  }
  return widths;
}

}  // namespace berth
