#pragma once
// Text as bytes from strangers, and text for people: parsing without exceptions or locale,
// escaping, and columns that stay columns with East Asian characters.

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace berth {

[[nodiscard]] std::string_view trimmed(std::string_view text);
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
/// What stands in a list as it is: a text, or a whole number.
template <class T>
concept Listed =
    std::convertible_to<T, std::string_view> ||
    (std::integral<std::remove_cvref_t<T>> && !std::same_as<std::remove_cvref_t<T>, char>);
/// All of a range with `separator` between: what `text_of` says of each, or each as it is.
template <std::ranges::input_range Range, class TextOf = std::identity>
  requires Listed<std::indirect_result_t<TextOf&, std::ranges::iterator_t<Range>>>
[[nodiscard]] std::string joined(Range&& range, std::string_view separator, TextOf text_of = {}) {
  std::string list;
  bool is_first = true;
  for (auto&& one : range) {
    if (!std::exchange(is_first, false)) list += separator;
    auto&& text = std::invoke(text_of, one);
    if constexpr (std::convertible_to<decltype(text), std::string_view>) {
      list += std::string_view(text);
    } else {
      list += std::to_string(text);
    }
  }
  return list;
}
/// For ASCII alone, whatever the locale.
[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
[[nodiscard]] constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
/// What the digit counts; nothing: it is none.
[[nodiscard]] constexpr std::optional<unsigned> hex_digit(char c) {
  if (is_digit(c)) return static_cast<unsigned>(c - '0');
  if (lower(c) >= 'a' && lower(c) <= 'f') return static_cast<unsigned>(lower(c) - 'a') + 10;
  return std::nullopt;
}
/// A letter, a digit or "_".
[[nodiscard]] constexpr bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}
[[nodiscard]] std::string capitals(std::string_view text);
[[nodiscard]] std::string small_letters(std::string_view text);
[[nodiscard]] bool equals_ignoring_case(std::string_view a, std::string_view b);

/// A PCI function's address as everybody writes it, "0000:3b:00.0", "3B:00.0", to ours with an
/// 8-digit domain and small letters. Nothing: not an address.
[[nodiscard]] std::optional<std::string> normal_pci_address(std::string_view text);

/// The whole text as a decimal number, nothing else around it.
[[nodiscard]] std::optional<std::uint64_t> parse_unsigned(std::string_view text);
/// The number behind `beginning`: "gi3" is 3.
[[nodiscard]] std::optional<std::uint64_t> number_behind(std::string_view name,
                                                         std::string_view beginning);
[[nodiscard]] std::optional<std::int64_t> parse_signed(std::string_view text);
/// "1.5": digits with at most one point, no sign, no exponent.
[[nodiscard]] std::optional<double> parse_decimal(std::string_view text);

/// "10G", "512MiB", "1.5g", "8000000000": 1024-based, B K M G T with optional iB/B.
/// invalid: says what a size looks like; full-width digits are named as such.
[[nodiscard]] Result<Bytes> parse_size(std::string_view text);
/// "90", "90s", "5m", "2h", "1d", "1h30m", "250ms"; a bare number is seconds.
[[nodiscard]] Result<std::chrono::milliseconds> parse_duration(std::string_view text);
/// The same where a number alone would be misread: sbatch takes it for minutes.
[[nodiscard]] Result<std::chrono::milliseconds> parse_duration_with_unit(std::string_view text);

/// The first character that a keyboard or word processor put in place of an ASCII one. With the
/// text as probably meant. Such are full-width digits and commas, curly quotes, non-breaking spaces
/// and dashes. Nothing where there is none.
struct TypographicMistake {
  std::string found;      // the character, as typed
  std::string corrected;  // the whole text with ASCII in its place
};
[[nodiscard]] std::optional<TypographicMistake> typographic_mistake(std::string_view text);
/// For a value that never has quotes: a number, a size, a list of devices. ASCII quotes are the
/// shell's; typed inside others they would stay in the value.
[[nodiscard]] std::string without_quotes(std::string text);
/// "…; it has "１" where an ASCII character is meant: try "10G"", where that is what happened to a
/// `text` that never has quotes.
[[nodiscard]] Sentence with_typographic_hint(const Sentence& message, std::string_view text);

/// JSON without characters that a terminal obeys or a reader cannot see: DEL, C1 controls, marks of
/// direction. Each becomes the \u escape that reads back as it.
[[nodiscard]] std::string printable_json(std::string_view json);

/// Bytes made safe to print: control characters, escape sequences, bidi overrides and broken UTF-8
/// become \xNN or \u{N}. Line breaks too.
[[nodiscard]] std::string printable(std::string_view text);
/// The same of a whole page: its line breaks and tabs stay.
[[nodiscard]] std::string printable_lines(std::string_view text);

/// Each byte that is not UTF-8 becomes U+FFFD.
[[nodiscard]] std::string valid_utf8(std::string_view text);

/// Letters, digits, signs and spaces of ASCII, and nothing else: harmless everywhere, and a column
/// each.
[[nodiscard]] bool is_plain_ascii(std::string_view text);

/// The bytes of the first character, if it is certainly harmless and one column wide. Such are
/// ASCII, Latin-1, dashes and quotation marks, frames, blocks and braille. Nearly all of a view is
/// made of them. 0: another one, or none.
[[nodiscard]] inline std::size_t plain_character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto goes_on = [&](std::size_t i) { return byte(i) >= 0x80 && byte(i) <= 0xBF; };
  if (text.empty()) return 0;
  if (byte(0) >= 0x20 && byte(0) < 0x7F) return 1;
  if (byte(0) == 0xC2 || byte(0) == 0xC3) {  // from U+00A0 on, but for the soft hyphen
    const bool is_seen =
        byte(0) == 0xC3 || (text.size() >= 2 && byte(1) >= 0xA0 && byte(1) != 0xAD);
    return text.size() >= 2 && goes_on(1) && is_seen ? 2 : 0;
  }
  if (byte(0) != 0xE2 || text.size() < 3 || !goes_on(2)) return 0;
  const bool is_dash_or_quote = byte(1) == 0x80 && byte(2) >= 0x90 && byte(2) <= 0xA7;
  const bool is_frame_or_block =
      byte(1) == 0x94 || byte(1) == 0x95 || (byte(1) == 0x96 && byte(2) < 0xA0);
  const bool is_braille = byte(1) >= 0xA0 && byte(1) <= 0xA3;
  return is_dash_or_quote || is_frame_or_block || is_braille ? 3 : 0;
}

/// How many columns the text takes on a terminal (East Asian wide characters take two, combining
/// ones none). The text must be printable().
[[nodiscard]] int display_width(std::string_view text);
/// At most `columns` wide; what is cut ends in "…" (or "..." where `ascii`).
[[nodiscard]] std::string cut_to_width(std::string_view text, int columns, bool ascii);
/// The end of the text that is at most `columns` wide.
[[nodiscard]] std::string_view end_of_width(std::string_view text, int columns);
/// FNV-1a. It spreads names well enough that need not resist an attacker.
[[nodiscard]] constexpr std::uint64_t hash_of(std::string_view text,
                                              std::uint64_t so_far = 0xcbf29ce484222325) {
  for (const char c : text) so_far = (so_far ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return so_far;
}
/// Hexadecimal digits, 16 at most, and nothing else.
[[nodiscard]] std::optional<std::uint64_t> parse_hex(std::string_view digits);
/// Bytes of the UTF-8 character at the front; printable() has made sure that it is one.
[[nodiscard]] std::size_t character_length(std::string_view text);

/// The words of a line, blanks between them.
[[nodiscard]] std::vector<std::string_view> words_in(std::string_view line);

/// The value of `key` in the first line of "key<separator>value" lines that has it, trimmed.
[[nodiscard]] std::optional<std::string> value_in_lines(std::string_view text, std::string_view key,
                                                        char separator = ':');
/// The number that begins it: 123 of "MemTotal:  123 kB". Nothing: none does.
[[nodiscard]] std::optional<std::uint64_t> number_in_lines(std::string_view text,
                                                           std::string_view key);

/// The numbers of a list as the kernel writes it, "0-3,8", ascending, each once; nothing: no such
/// list, or one above 65535. And such a list.
[[nodiscard]] std::optional<std::vector<int>> numbers_in_list(std::string_view text);
[[nodiscard]] std::string number_list(const std::vector<int>& ascending);

/// "SIGTERM (15)".
[[nodiscard]] std::string signal_name(int signal);

/// The shell word that stands for exactly this text: safe in sh, bash, zsh.
[[nodiscard]] std::string shell_quoted(std::string_view word);
/// A command line a person could paste.
[[nodiscard]] std::string shell_joined(const std::vector<std::string>& words);

/// "2h03m", "45s", "3d04h": two units at most.
[[nodiscard]] std::string short_duration(std::chrono::milliseconds duration);

/// "61.2 GiB", "512 MiB": one decimal from 1 GiB on, whole MiB below, "0" for nothing.
[[nodiscard]] std::string short_size(Bytes size);

/// How deep brackets nest in JSON outside of strings. Asked before parsing: a hostile file is all
/// brackets, and what a parser builds from it is taken down by recursion.
[[nodiscard]] int nesting_depth(std::string_view json);

/// Secrets in a command line or a variable, replaced by "***". Such are values of
/// --password/--token-like options, of NAME=value words with a secret's name, and user:password@ of
/// URLs.
[[nodiscard]] std::vector<std::string> masked_command(const std::vector<std::string>& words);
[[nodiscard]] bool is_secret_name(std::string_view name);
[[nodiscard]] std::string masked_text(std::string_view text);
/// A line of $BERTH_MARKS: "@UNIX_MS TEXT", secrets masked.
[[nodiscard]] std::string mark_line(std::int64_t unix_ms, std::string_view text);

}  // namespace berth
