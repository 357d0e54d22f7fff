// How sentences are shown. Those made here have their key and values. Some come as finished
// English: from a record, another server, a library. Such are found again among the catalogue's
// keys. Their files keep the English alone, for people and other programs.

#include <fmt/args.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/catalogue.h"
#include "base/sentence.h"
#include "base/tr.h"

namespace berth {

namespace {

/// The pieces between "{}". Nothing: the key has no "{}", has others ("{:.1f}"), or has too few
/// letters of its own to be recognised by.
std::vector<std::string_view> words_of(std::string_view key) {
  constexpr std::size_t fewest = 8;
  std::vector<std::string_view> words;
  std::size_t own = 0;
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t brace = key.find_first_of("{}", begin);
    const std::string_view piece = key.substr(begin, brace - begin);
    for (const char c : piece) own += c != ' ' ? 1 : 0;
    words.push_back(piece);
    if (brace == key.npos) break;
    if (key.substr(brace, 2) != "{}") return {};
    begin = brace + 2;
  }
  if (words.size() < 2 || own < fewest) return {};
  return words;
}

/// What stands where the template has "{}".
std::optional<std::vector<std::string_view>> values_in(std::string_view text,
                                                       const std::vector<std::string_view>& words) {
  if (!text.starts_with(words.front())) return std::nullopt;
  std::vector<std::string_view> values;
  std::size_t at = words.front().size();
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool is_last = i + 1 == words.size();
    std::size_t next = text.find(words[i], at);
    if (is_last) {
      if (!text.ends_with(words[i]) || text.size() - words[i].size() < at) return std::nullopt;
      next = text.size() - words[i].size();
    }
    if (next == text.npos || next == at) return std::nullopt;
    values.push_back(text.substr(at, next - at));
    at = next + words[i].size();
  }
  return values;
}

using Found = std::pair<std::string_view, std::vector<std::string_view>>;  // a key, its values

/// The fitting key with the fewest bytes left to values.
std::optional<Found> template_of(std::string_view text) {
  const Catalogue all = chinese_catalogue();
  std::optional<Found> best;
  for (std::uint32_t i = 0; i < all.count(); ++i) {
    const std::string_view key = all.key_at(i);
    const std::size_t brace = key.find('{');
    if (brace == key.npos || !text.starts_with(key.substr(0, brace))) continue;
    if (best && key.size() <= best->first.size()) continue;
    const auto words = words_of(key);
    if (words.empty()) continue;
    if (auto values = values_in(text, words)) best = Found{key, std::move(*values)};
  }
  return best;
}

/// `searches`: through all keys, that are left. What one text may cost is bounded: a stranger's
/// file must not stop the screen.
std::string translate_composed(std::string_view english, int depth, int& searches) {
  constexpr std::size_t longest_searched = 4096;  // bytes
  const std::string_view whole = tr(english);
  if (whole != english || depth == 0 || english.find(' ') == english.npos ||
      english.size() > longest_searched || searches == 0) {
    return std::string(whole);
  }
  --searches;
  if (const auto found = template_of(english)) {
    fmt::dynamic_format_arg_store<fmt::format_context> values;
    for (const std::string_view value : found->second) {
      values.push_back(translate_composed(value, depth - 1, searches));
    }
    return detail::format_translated(found->first, values);
  }
  for (const std::string_view mark : {": ", "; "}) {
    const std::size_t at = english.find(mark);
    if (at == english.npos) continue;
    const std::string_view before = english.substr(0, at);
    const std::string_view after = english.substr(at + mark.size());
    const std::string first = translate_composed(before, depth - 1, searches);
    const std::string rest = translate_composed(after, depth - 1, searches);
    if (first != before || rest != after) return first + std::string(tr(mark)) + rest;
  }
  return std::string(english);
}

}  // namespace

std::string Sentence::shown() const {
  if (is_as_it_is_ || current_language() == Language::english) return english();
  if (values_.empty()) {
    constexpr int most_nested = 6;
    int searches = 20;  // a sentence of ours takes a handful
    return translate_composed(text_, most_nested, searches);
  }
  fmt::dynamic_format_arg_store<fmt::format_context> values;
  for (const Sentence& value : values_) values.push_back(value.shown());
  return detail::format_translated(text_, values);
}

}  // namespace berth
