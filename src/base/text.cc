#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace berth {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::optional<std::uint64_t> parse_hex(std::string_view digits) {
  std::uint64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, 16);
  if (digits.empty() || digits.front() == '-' || error != std::errc() || stop != end) {
    return std::nullopt;
  }
  return value;
}

std::vector<std::string_view> words_in(std::string_view line) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split(line, ' ')) {
    if (!trimmed(word).empty()) words.push_back(trimmed(word));
  }
  return words;
}

std::optional<std::string> value_in_lines(std::string_view text, std::string_view key,
                                          char separator) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.starts_with(key)) continue;
    const std::size_t at = line.find(separator);
    if (at == line.npos || trimmed(line.substr(0, at)) != key) continue;
    return std::string(trimmed(line.substr(at + 1)));
  }
  return std::nullopt;
}

std::optional<std::uint64_t> number_in_lines(std::string_view text, std::string_view key) {
  const auto value = value_in_lines(text, key);
  return value ? parse_unsigned(value->substr(0, value->find_first_of(" \t"))) : std::nullopt;
}

std::optional<std::vector<int>> numbers_in_list(std::string_view text) {
  constexpr std::uint64_t most = 0xFFFF;
  std::vector<int> numbers;
  for (const std::string_view part : split(trimmed(text), ',')) {
    const auto ends = split(part, '-');
    const auto first = parse_unsigned(ends.front());
    const auto last = parse_unsigned(ends.back());
    if (ends.size() > 2 || !first || !last || *last < *first || *last > most) return std::nullopt;
    if (numbers.size() > most) return std::nullopt;  // named again and again
    for (auto number = *first; number <= *last; ++number) {
      numbers.push_back(static_cast<int>(number));
    }
  }
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

std::string number_list(const std::vector<int>& ascending) {
  std::string text;
  for (std::size_t i = 0; i < ascending.size();) {
    std::size_t last = i;
    while (last + 1 < ascending.size() && ascending[last + 1] == ascending[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(ascending[i]);
    if (last > i) text += "-" + std::to_string(ascending[last]);
    i = last + 1;
  }
  return text;
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? std::to_string(signal) : fmt::format("SIG{} ({})", name, signal);
}

namespace {
char capital(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }
}  // namespace

std::string capitals(std::string_view text) {
  std::string changed(text);
  std::transform(changed.begin(), changed.end(), changed.begin(), capital);
  return changed;
}

std::string small_letters(std::string_view text) {
  std::string changed(text);
  std::transform(changed.begin(), changed.end(), changed.begin(), lower);
  return changed;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char one, char other) { return lower(one) == lower(other); });
}

namespace {
template <class T>
std::optional<T> parse_whole(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}
}  // namespace

std::optional<std::uint64_t> parse_unsigned(std::string_view text) {
  return parse_whole<std::uint64_t>(text);
}
std::optional<std::uint64_t> number_behind(std::string_view name, std::string_view beginning) {
  return name.starts_with(beginning) ? parse_unsigned(name.substr(beginning.size())) : std::nullopt;
}
std::optional<std::int64_t> parse_signed(std::string_view text) {
  return parse_whole<std::int64_t>(text);
}

std::optional<double> parse_decimal(std::string_view text) {
  bool digit = false;
  int points = 0;
  for (const char c : text) {
    if (is_digit(c)) {
      digit = true;
    } else if (c != '.' || ++points > 1) {
      return std::nullopt;
    }
  }
  if (!digit || text.size() > 30) return std::nullopt;
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string without_quotes(std::string text) {
  std::erase_if(text, [](char c) { return c == '"' || c == '\''; });
  return text;
}

Sentence with_typographic_hint(const Sentence& message, std::string_view text) {
  if (const auto mistake = typographic_mistake(text)) {
    return sentence("{}; it has \"{}\" where an ASCII character is meant: try \"{}\"", message,
                    mistake->found, printable(without_quotes(mistake->corrected)));
  }
  return message;
}

namespace {

/// The number in front, and what follows it.
std::pair<std::string_view, std::string_view> number_and_unit(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
  return {text.substr(0, end), trimmed(text.substr(end))};
}

std::optional<int> size_shift(std::string_view unit) {
  if (unit.empty() || equals_ignoring_case(unit, "B")) return 0;
  constexpr std::string_view letters = "KMGTP";
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const std::string_view letter = letters.substr(i, 1);
    if (!equals_ignoring_case(unit.substr(0, 1), letter)) continue;
    const std::string_view rest = unit.substr(1);
    if (rest.empty() || equals_ignoring_case(rest, "B") || equals_ignoring_case(rest, "iB")) {
      return static_cast<int>(10 * (i + 1));
    }
  }
  return std::nullopt;
}

}  // namespace

Result<Bytes> parse_size(std::string_view text) {
  const auto [digits, unit] = number_and_unit(trimmed(text));
  const auto number = parse_decimal(digits);
  const auto shift = size_shift(unit);
  if (!number || !shift) {
    return fail(
        ErrorCode::invalid,
        with_typographic_hint(
            sentence("\"{}\" is not a size; write 10G, 512M or a number of bytes", printable(text)),
            text));
  }
  const double bytes = std::ldexp(*number, *shift);
  if (!(bytes < 9.2e18)) {
    return fail(ErrorCode::invalid, "\"{}\" is too large a size", printable(text));
  }
  return Bytes(static_cast<std::uint64_t>(bytes));
}

namespace {
std::unexpected<Error> no_duration(std::string_view text, const Sentence& what_is_one) {
  return fail(
      ErrorCode::invalid,
      with_typographic_hint(
          sentence("\"{}\" is not a duration; write {}", printable(text), what_is_one), text));
}
}  // namespace

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  struct Scale {
    std::string_view unit;
    double milliseconds;
  };
  constexpr std::array<Scale, 6> scales = {
      {{"ms", 1}, {"s", 1000}, {"m", 60e3}, {"min", 60e3}, {"h", 3600e3}, {"d", 86400e3}}};
  const auto mistake = [&] {
    return no_duration(text, sentence("90s, 5m, 2h or 1h30m (a number alone is seconds)"));
  };
  std::string_view rest = trimmed(text);
  if (const auto seconds = parse_decimal(rest)) {
    if (*seconds > 1e9) return mistake();
    return std::chrono::milliseconds(std::llround(*seconds * 1000));
  }
  double total = 0;
  while (!rest.empty()) {
    std::size_t digits = 0;
    while (digits < rest.size() && (is_digit(rest[digits]) || rest[digits] == '.')) ++digits;
    std::size_t end = digits;
    while (end < rest.size() && !is_digit(rest[end]) && rest[end] != '.') ++end;
    const auto number = parse_decimal(rest.substr(0, digits));
    const std::string_view unit = trimmed(rest.substr(digits, end - digits));
    const Scale* scale = nullptr;
    for (const Scale& candidate : scales) {
      if (equals_ignoring_case(candidate.unit, unit)) scale = &candidate;
    }
    if (!number || scale == nullptr) return mistake();
    total += *number * scale->milliseconds;
    rest.remove_prefix(end);
  }
  if (trimmed(text).empty() || !(total < 1e12)) return mistake();
  return std::chrono::milliseconds(std::llround(total));
}

Result<std::chrono::milliseconds> parse_duration_with_unit(std::string_view text) {
  const auto number = parse_decimal(trimmed(text));
  if (!number || *number == 0) {
    auto duration = parse_duration(text);
    return duration ? std::move(duration) : no_duration(text, sentence("90s, 5m, 2h or 1h30m"));
  }
  const std::string bare = printable(trimmed(text));
  return fail(ErrorCode::invalid, "\"{}\" has no unit; write {}m (so sbatch means it), {}h or {}s",
              bare, bare, bare, bare);
}

std::string shell_quoted(std::string_view word) {
  constexpr std::string_view harmless =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+-./:=@_,";
  if (!word.empty() && word.find_first_not_of(harmless) == std::string_view::npos) {
    return std::string(word);
  }
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string shell_joined(const std::vector<std::string>& words) {
  return joined(words, " ", shell_quoted);
}

std::string short_duration(std::chrono::milliseconds duration) {
  const long long seconds = duration.count() / 1000;
  std::array<char, 64> text{};
  if (seconds < 60) {
    std::snprintf(text.data(), text.size(), "%llds", seconds);
  } else if (seconds < 3600) {
    std::snprintf(text.data(), text.size(), "%lldm%02llds", seconds / 60, seconds % 60);
  } else if (seconds < 86400) {
    std::snprintf(text.data(), text.size(), "%lldh%02lldm", seconds / 3600, seconds / 60 % 60);
  } else {
    std::snprintf(text.data(), text.size(), "%lldd%02lldh", seconds / 86400, seconds / 3600 % 24);
  }
  return text.data();
}

std::string short_size(Bytes size) {
  constexpr double mib = 1024.0 * 1024.0;
  constexpr double gib = 1024.0 * mib;
  const auto bytes = static_cast<double>(size.count());
  if (size.count() == 0) return "0";
  // Rounding must not make "1024 MiB" of what is nearly a GiB.
  if (bytes >= gib - mib / 2) return fmt::format("{:.1f} GiB", bytes / gib);
  if (bytes < mib) return fmt::format("{:.0f} KiB", std::ceil(bytes / 1024.0));
  return fmt::format("{:.0f} MiB", bytes / mib);
}

int nesting_depth(std::string_view json) {
  int depth = 0;
  int deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

std::optional<std::string> normal_pci_address(std::string_view text) {
  const auto parts = split(trimmed(text), ':');
  if (parts.size() != 2 && parts.size() != 3) return std::nullopt;
  const std::string_view slot = parts.back();
  const std::size_t dot = slot.find('.');
  if (dot == std::string_view::npos || dot != 2 || slot.size() != 4) return std::nullopt;
  const std::string_view bus = parts[parts.size() - 2];
  std::string domain(parts.size() == 3 ? parts[0] : "0");
  if (bus.size() != 2 || domain.empty() || domain.size() > 8) return std::nullopt;
  for (const std::string_view digits :
       {std::string_view(domain), bus, slot.substr(0, 2), slot.substr(3)}) {
    if (digits.empty() || digits.find_first_not_of("0123456789abcdefABCDEF") != digits.npos) {
      return std::nullopt;
    }
  }
  domain.insert(0, 8 - domain.size(), '0');
  std::string address = domain + ":" + std::string(bus) + ":" + std::string(slot);
  return small_letters(address);
}

}  // namespace berth
