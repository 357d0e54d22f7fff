#include "config/toml.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "config/toml_value.h"

namespace berth {

namespace {

/// How many letters have to be added, dropped or changed.
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t changed = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_word(std::string_view unknown, std::span<const std::string_view> known) {
  constexpr std::size_t longest = 64;
  std::string nearest;
  std::size_t least = 4;
  if (unknown.size() > longest) return nearest;
  for (const std::string_view word : known) {
    const std::size_t far = distance(unknown, word);
    if (far < least) {
      least = far;
      nearest = word;
    }
  }
  return nearest;
}

Sentence no_such_key(std::string_view place, std::string_view key,
                     std::span<const std::string_view> known, std::string_view lists) {
  constexpr int widest = 80;
  const std::string shown = cut_to_width(printable(key), widest, true);
  const std::string nearest = nearest_word(key, known);
  if (nearest.empty())
    return sentence("{}: there is no key {}; `{}` lists them", place, shown, lists);
  return sentence("{}: there is no key {}; is {} meant?", place, shown, nearest);
}

std::optional<std::string> text_of(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return text;
  if (const auto number = node.value_exact<std::int64_t>()) return std::to_string(*number);
  if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
  if (const auto flag = node.value_exact<bool>()) return *flag ? "true" : "false";
  const toml::array* list = node.as_array();
  if (list == nullptr || list->empty()) return std::nullopt;
  std::string joined;
  for (const toml::node& one : *list) {
    const auto text = one.is_array() ? std::nullopt : text_of(one);
    if (!text) return std::nullopt;
    joined += (joined.empty() ? "" : ",") + *text;
  }
  return joined;
}

Result<toml::table> parse_toml(std::string_view text) {
  // The parser goes as deep as the text does.
  constexpr std::size_t longest = 1 << 20;
  if (text.size() > longest) return fail(ErrorCode::invalid, "larger than 1 MiB");
  constexpr std::ptrdiff_t most_parts = 1000;
  const std::vector<std::string_view> lines = split(text, '\n');
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (std::ranges::count(lines[i], '.') < most_parts) continue;
    return fail(ErrorCode::invalid, "line {}: a key has at most {} parts", i + 1, most_parts);
  }
  toml::parse_result parsed = toml::parse(text);
  if (parsed) return std::move(parsed).table();
  return fail(ErrorCode::invalid, "line {}: this is no TOML: {}",
              parsed.error().source().begin.line, parsed.error().description());
}

std::optional<std::string> toml_value(std::string_view text, std::string_view key) {
  const auto table = parse_toml(text);
  const toml::node* node = table ? table->get(key) : nullptr;
  return node == nullptr ? std::nullopt : text_of(*node);
}

}  // namespace berth
