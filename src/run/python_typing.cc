// Characters in a Python script's code that Python refuses. These are curly quotes, and characters
// that look like blanks. They come from web pages, chats and word processors.

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "run/run.h"

namespace berth {

namespace {

/// Another encoding than UTF-8, which the first two lines may name, is not read here.
bool names_an_encoding(std::string_view text) {
  const std::size_t second = text.find('\n');
  const std::string_view head = text.substr(0, text.find('\n', second + 1));
  return head.find("coding") != head.npos && head.find("utf") == head.npos;
}

/// The position after the string whose first quote stands at `at`. npos: its end is in doubt. It
/// has no end, or it is an f-string with quotes in its braces.
std::size_t end_of_string(std::string_view text, std::size_t at, bool is_formatted) {
  const std::string_view one = text.substr(at, 1);
  const std::string three(3, one[0]);
  const bool is_long = text.substr(at, 3) == three;
  const std::string_view closing = is_long ? std::string_view(three) : one;
  int depth = 0;
  for (std::size_t i = at + closing.size(); i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text.substr(i, closing.size()) == closing) {
      return is_formatted && depth != 0 ? text.npos : i + closing.size();
    } else if (text[i] == '\n' && !is_long) {
      return text.npos;
    } else {
      depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
    }
  }
  return text.npos;
}

/// The letters in front of a quote that belong to it: "rb", "f".
std::string_view prefix_before(std::string_view text, std::size_t quote) {
  std::size_t begin = quote;
  while (begin > 0 && is_word_character(text[begin - 1])) --begin;
  return text.substr(begin, quote - begin);
}

/// "“ (U+201C)" where the text goes on with a character that Python refuses in code. Letters and
/// digits of full width are not of these: they may be a part of a name.
std::string refused_at(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.size() < 2) return "";
  const std::size_t length = byte(0) >= 0xE0 ? 3 : 2;  // none of these has four bytes
  if (byte(0) >= 0xF0 || text.size() < length) return "";
  const std::string_view character = text.substr(0, length);
  constexpr std::string_view zero_width = "\xE2\x80\x8B";
  const auto mistake = typographic_mistake(character);
  const bool is_part_of_a_name = mistake && is_word_character(mistake->corrected[0]);
  if ((!mistake && character != zero_width) || is_part_of_a_name) return "";
  const unsigned point = length == 2
                             ? (byte(0) & 0x1FU) << 6 | (byte(1) & 0x3FU)
                             : (byte(0) & 0x0FU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU);
  return fmt::format("{} (U+{:04X})", printable(character), point);
}

}  // namespace

std::optional<ScriptLine> find_character_python_refuses(std::string_view text) {
  if (names_an_encoding(text)) return std::nullopt;
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '"' || c == '\'') {
      const bool is_formatted = prefix_before(text, at).find_first_of("fFtT") != text.npos;
      at = end_of_string(text, at, is_formatted);
    } else if (static_cast<unsigned char>(c) < 0x80) {
      ++at;
    } else if (const std::string found = refused_at(text.substr(at)); !found.empty()) {
      const auto number = 1 + std::ranges::count(text.substr(0, at), '\n');
      return ScriptLine{.number = static_cast<int>(number), .text = found};
    } else {
      do ++at;
      while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U);
    }
  }
  return std::nullopt;
}

}  // namespace berth
