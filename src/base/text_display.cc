// Text as it appears: columns, escapes, and the characters that a phone or a word processor put
// where ASCII was meant.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>

#include "base/text.h"
#include "base/width_tables.h"

namespace berth {

namespace {

constexpr char32_t broken = 0xFFFFFFFF;

/// The code point at the front of `text`, which is shortened by it; `broken` for a byte that is not
/// UTF-8 (overlong forms and surrogates are not).
char32_t take_code_point(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  std::size_t length = 1;
  char32_t value = first;
  char32_t smallest = 0;
  if (first >= 0xF0 && first < 0xF8) {
    length = 4, value = first & 0x07u, smallest = 0x10000;
  } else if (first >= 0xE0) {
    length = 3, value = first & 0x0Fu, smallest = 0x800;
  } else if (first >= 0xC0) {
    length = 2, value = first & 0x1Fu, smallest = 0x80;
  } else if (first >= 0x80) {
    text.remove_prefix(1);
    return broken;
  }
  if (first >= 0xF8 || length > text.size()) {
    text.remove_prefix(1);
    return broken;
  }
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0u) != 0x80u) {
      text.remove_prefix(1);
      return broken;
    }
    value = (value << 6) | (byte(i) & 0x3Fu);
  }
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (length > 1 && (value < smallest || surrogate || value > 0x10FFFF)) {
    text.remove_prefix(1);
    return broken;
  }
  text.remove_prefix(length);
  return value;
}

using unicode::Range;

/// `ranges`: in their order.
template <std::size_t N>
bool in_any(char32_t point, const std::array<Range, N>& ranges) {
  const auto behind = std::ranges::upper_bound(ranges, point, {}, &Range::first);
  return behind != ranges.begin() && point <= std::prev(behind)->last;
}

// Invisible joiners, the variant of the character before, and letters that join that one.
constexpr std::array<Range, 3> joiners = {{{0x1160, 0x11FF}, {0x200C, 0x200D}, {0xFE0F, 0xFE0F}}};
// What moves the cursor, reorders or hides text: escaped, never printed.
constexpr std::array<Range, 20> unprintable = {
    {{0x00, 0x1F},     {0x7F, 0x9F},       {0xAD, 0xAD},       {0x34F, 0x34F},
     {0x61C, 0x61C},   {0x115F, 0x1160},   {0x17B4, 0x17B5},   {0x180B, 0x180F},
     {0x200B, 0x200B}, {0x200E, 0x200F},   {0x2028, 0x202E},   {0x2060, 0x206F},
     {0x3164, 0x3164}, {0xFE00, 0xFE0E},   {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},
     {0xFFF0, 0xFFFB}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}}};

/// Most text is this, and needs no look into the tables.
bool is_plain_ascii(char32_t point) { return point >= 0x20 && point < 0x7F; }

/// What the front of `text` is that needs no look into the tables: harmless, a column each.
struct Front {
  std::size_t bytes = 0;
  int columns = 0;
};
Front plain_front(std::string_view text) {
  Front front;
  while (const std::size_t bytes = plain_character_bytes(text.substr(front.bytes))) {
    front.bytes += bytes;
    ++front.columns;
  }
  return front;
}

int width_of(char32_t point) {
  if (is_plain_ascii(point)) return 1;
  if (point == broken || in_any(point, joiners) || in_any(point, unicode::marks)) return 0;
  return in_any(point, unicode::wide) ? 2 : 1;
}

struct LookAlike {
  char32_t typed;
  char meant;
};
constexpr std::array<LookAlike, 26> look_alikes = {{
    {0x201C, '"'}, {0x201D, '"'}, {0x201E, '"'}, {0x2018, '\''}, {0x2019, '\''}, {0x201A, '\''},
    {0x2013, '-'}, {0x2014, '-'}, {0x2212, '-'}, {0x00A0, ' '},  {0x3000, ' '},  {0x3001, ','},
    {0x3002, '.'}, {0x2010, '-'}, {0x2011, '-'}, {0x202F, ' '},  {0x2009, ' '},  {0x300C, '"'},
    {0x300D, '"'}, {0x2024, '.'}, {0x066B, '.'}, {0x066C, ','},  {0x201B, '\''}, {0x201F, '"'},
    {0x2236, ':'}, {0x2215, '/'},
}};

/// The ASCII character that was meant, or 0.
char ascii_for(char32_t point) {
  // Full-width forms stand in ASCII's order: "！" (FF01) to "～" (FF5E).
  if (point >= 0xFF01 && point <= 0xFF5E) return static_cast<char>(point - 0xFF01 + '!');
  for (const LookAlike& pair : look_alikes) {
    if (pair.typed == point) return pair.meant;
  }
  return 0;
}

}  // namespace

std::optional<TypographicMistake> typographic_mistake(std::string_view text) {
  std::optional<TypographicMistake> mistake;
  std::string corrected;
  while (!text.empty()) {
    const std::string_view before = text;
    const char32_t point = take_code_point(text);
    const std::string_view bytes = before.substr(0, before.size() - text.size());
    const char ascii = ascii_for(point);
    if (ascii == 0) {
      corrected += bytes;
      continue;
    }
    corrected += ascii;
    if (!mistake) mistake = TypographicMistake{std::string(bytes), {}};
  }
  if (mistake) mistake->corrected = corrected;
  return mistake;
}

bool is_plain_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return is_plain_ascii(static_cast<char32_t>(static_cast<unsigned char>(c)));
  });
}

std::string printable(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  while (true) {
    const Front plain = plain_front(text);
    safe += text.substr(0, plain.bytes);
    text.remove_prefix(plain.bytes);
    if (text.empty()) break;
    const std::string_view before = text;
    const char32_t point = take_code_point(text);
    std::array<char, 16> escape{};
    if (point == broken || (point < 0x80 && in_any(point, unprintable))) {
      std::snprintf(escape.data(), escape.size(), "\\x%02X", static_cast<unsigned char>(before[0]));
      safe += escape.data();
    } else if (in_any(point, unprintable)) {
      std::snprintf(escape.data(), escape.size(), "\\u{%X}", static_cast<unsigned>(point));
      safe += escape.data();
    } else {
      safe += before.substr(0, before.size() - text.size());
    }
  }
  return safe;
}

std::string printable_json(std::string_view json) {
  constexpr char32_t delete_sign = 0x7F;
  constexpr char32_t last_of_one_unit = 0xFFFF;
  std::string safe;
  safe.reserve(json.size());
  while (!json.empty()) {
    const auto special = std::ranges::find_if(
        json, [](char c) { return static_cast<unsigned char>(c) >= delete_sign; });
    const auto plain = static_cast<std::size_t>(special - json.begin());
    safe += json.substr(0, plain);
    json.remove_prefix(plain);
    if (json.empty()) break;
    const std::string_view before = json;
    const char32_t point = take_code_point(json);
    if (point == broken || !in_any(point, unprintable)) {
      safe += before.substr(0, before.size() - json.size());
    } else if (point <= last_of_one_unit) {
      safe += fmt::format("\\u{:04x}", static_cast<unsigned>(point));
    } else {
      const unsigned above = static_cast<unsigned>(point) - 0x10000;
      safe += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (above >> 10), 0xDC00 + (above & 0x3FF));
    }
  }
  return safe;
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const std::string_view before = text;
    const bool is_broken = take_code_point(text) == broken;
    valid += is_broken ? "\uFFFD" : before.substr(0, before.size() - text.size());
  }
  return valid;
}

std::string printable_lines(std::string_view text) {
  constexpr std::string_view kept = "\n\t";
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(kept), text.size());
    safe += printable(text.substr(0, end));
    const std::size_t taken = std::min(end + 1, text.size());
    safe += text.substr(end, taken - end);
    text.remove_prefix(taken);
  }
  return safe;
}

int display_width(std::string_view text) {
  int width = 0;
  while (true) {
    const Front plain = plain_front(text);
    width += plain.columns;
    text.remove_prefix(plain.bytes);
    if (text.empty()) return width;
    width += width_of(take_code_point(text));
  }
}

std::size_t character_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  return std::min(length, text.size());
}

std::string_view end_of_width(std::string_view text, int columns) {
  while (!text.empty() && display_width(text) > columns) {
    text.remove_prefix(character_length(text));
  }
  return text;
}

std::string cut_to_width(std::string_view text, int columns, bool ascii) {
  if (display_width(text) <= columns) return std::string(text);
  const std::string_view ending = ascii ? "..." : "…";
  const int room = columns - (ascii ? 3 : 1);
  if (room < 0) return std::string(static_cast<std::size_t>(std::max(columns, 0)), '.');
  std::string cut;
  int width = 0;
  while (!text.empty()) {
    const std::string_view before = text;
    const int next = width_of(take_code_point(text));
    if (width + next > room) break;
    width += next;
    cut += before.substr(0, before.size() - text.size());
  }
  return cut + std::string(ending);
}

}  // namespace berth
