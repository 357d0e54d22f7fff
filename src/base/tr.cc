#include "base/tr.h"

#include <fmt/args.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "base/catalogue.h"
#include "base/gzip.h"
#include "base/language_here.h"

// The compiled catalogue, placed here by catalogue.S.
extern "C" {
extern const char berth_catalogue_zh_CN[];
extern const char berth_catalogue_zh_CN_end[];
}

namespace berth {

namespace {

Language chosen = Language::english;               // written by the main thread alone
thread_local std::optional<Language> chosen_here;  // by LanguageHere

/// Unpacked when Chinese is wanted for the first time.
Catalogue catalogue() {
  constexpr std::size_t most_bytes = 4 << 20;
  static const std::string texts =
      gunzipped({berth_catalogue_zh_CN, berth_catalogue_zh_CN_end}, most_bytes).value_or("");
  return Catalogue(texts);
}

/// The pieces between "{}"; nothing where the key has none or others ("{:.1f}"), and where it has
/// too few words of its own to be recognised by.
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

struct Found {
  std::string_view key;
  std::vector<std::string_view> values;
};

/// Of the keys that fit, the one with the fewest bytes left to values.
std::optional<Found> template_of(std::string_view text) {
  const Catalogue all = catalogue();
  std::optional<Found> best;
  for (std::uint32_t i = 0; i < all.count(); ++i) {
    const std::string_view key = all.key_at(i);
    const std::size_t brace = key.find('{');
    if (brace == key.npos || !text.starts_with(key.substr(0, brace))) continue;
    if (best && key.size() <= best->key.size()) continue;
    const auto words = words_of(key);
    if (words.empty()) continue;
    if (auto values = values_in(text, words)) best = Found{key, std::move(*values)};
  }
  return best;
}

/// What one text may cost, however it is made up: a stranger's file must not stop the screen.
struct Effort {
  int searches = 20;  // through all keys; a sentence of ours takes a handful
};
constexpr std::size_t longest_searched = 4096;  // bytes
constexpr int most_nested = 6;

std::string translate_composed(std::string_view english, int depth, Effort& effort) {
  const std::string_view whole = tr(english);
  if (whole != english || depth == 0 || english.find(' ') == english.npos ||
      english.size() > longest_searched || effort.searches == 0) {
    return std::string(whole);
  }
  --effort.searches;
  if (const auto found = template_of(english)) {
    fmt::dynamic_format_arg_store<fmt::format_context> values;
    for (const std::string_view value : found->values) {
      values.push_back(translate_composed(value, depth - 1, effort));
    }
    return detail::format_translated(found->key, values);
  }
  for (const std::string_view mark : {"：", ": ", "; "}) {
    const std::size_t at = english.find(mark);
    if (at == english.npos) continue;
    const std::string_view before = english.substr(0, at);
    const std::string_view after = english.substr(at + mark.size());
    const std::string first = translate_composed(before, depth - 1, effort);
    const std::string rest = translate_composed(after, depth - 1, effort);
    if (first != before || rest != after) return first + std::string(tr(mark)) + rest;
  }
  return std::string(english);
}

}  // namespace

std::string_view Catalogue::find(std::string_view key) const {
  std::uint32_t low = 0;
  std::uint32_t high = count();
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    const std::string_view candidate = key_at(middle);
    if (candidate == key) return text_at(word(16) + std::size_t{middle} * 8);
    if (candidate < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return {};
}

std::uint32_t Catalogue::count() const {
  constexpr std::uint32_t little_endian_magic = 0x950412de;
  return file_.size() < 20 || word(0) != little_endian_magic ? 0 : word(8);
}

std::string_view Catalogue::key_at(std::uint32_t i) const {
  return text_at(word(12) + std::size_t{i} * 8);
}

std::uint32_t Catalogue::word(std::size_t offset) const {
  std::uint32_t value = 0;
  if (offset + 4 <= file_.size()) std::memcpy(&value, file_.data() + offset, 4);
  return value;
}

std::string_view Catalogue::text_at(std::size_t entry) const {
  const std::size_t length = word(entry);
  const std::size_t offset = word(entry + 4);
  if (offset + length > file_.size()) return {};
  return file_.substr(offset, length);
}

Language language_from_name(std::string_view name) {
  // "zh_CN.UTF-8", "zh-Hans", "zh". Traditional Chinese (zh_TW, zh_HK) is not this catalogue.
  if (name.substr(0, 2) != "zh") return Language::english;
  const bool traditional = name.find("TW") != std::string_view::npos ||
                           name.find("HK") != std::string_view::npos ||
                           name.find("Hant") != std::string_view::npos;
  return traditional ? Language::english : Language::simplified_chinese;
}

void set_language(Language language) { chosen = language; }
Language current_language() { return chosen_here.value_or(chosen); }

LanguageHere::LanguageHere(Language language) { chosen_here = language; }
LanguageHere::~LanguageHere() { chosen_here.reset(); }

std::string_view tr(std::string_view english) {
  if (current_language() == Language::english || english.empty()) return english;
  const std::string_view found = catalogue().find(english);
  return found.empty() ? english : found;
}

std::string tr_composed(std::string_view english) {
  if (current_language() == Language::english) return std::string(english);
  Effort effort;
  return translate_composed(english, most_nested, effort);
}

namespace detail {
std::string format_translated(std::string_view english, fmt::format_args args) {
  return format_as(tr(english), english, args);
}

std::string format_as(std::string_view translated, std::string_view english,
                      fmt::format_args args) {
  try {
    return fmt::vformat(translated, args);
  } catch (const fmt::format_error&) {
    // A translation whose placeholders do not fit (a test looks for them) must not cost the answer.
    return fmt::vformat(english, args);
  }
}
}  // namespace detail

}  // namespace berth
