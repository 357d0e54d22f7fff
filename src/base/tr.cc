#include "base/tr.h"

#include <cstdint>
#include <cstring>
#include <optional>

#include "base/catalogue.h"
#include "base/gzip.h"

// The compiled catalogue, placed here by catalogue.S.
extern "C" {
extern const char berth_catalogue_zh_CN[];
extern const char berth_catalogue_zh_CN_end[];
}

namespace berth {

namespace {
Language chosen = Language::english;               // written by the main thread alone
thread_local std::optional<Language> chosen_here;  // by LanguageHere
}  // namespace

Catalogue chinese_catalogue() {
  constexpr std::size_t most_bytes = 4 << 20;
  static const std::string texts =
      gunzipped({berth_catalogue_zh_CN, berth_catalogue_zh_CN_end}, most_bytes).value_or("");
  return Catalogue(texts);
}

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

bool is_known_language(std::string_view name) {
  if (language_from_name(name) != Language::english) return true;
  const std::string_view word = name.substr(0, name.find_first_of("_-.@"));
  return word == "en" || word == "C" || word == "POSIX";
}

void set_language(Language language) { chosen = language; }
Language current_language() { return chosen_here.value_or(chosen); }

LanguageHere::LanguageHere(Language language) { chosen_here = language; }
LanguageHere::~LanguageHere() { chosen_here.reset(); }

std::string_view tr(std::string_view english) {
  if (current_language() == Language::english || english.empty()) return english;
  const std::string_view found = chinese_catalogue().find(english);
  return found.empty() ? english : found;
}

namespace detail {
std::string format_translated(std::string_view english, fmt::format_args args) {
  return format_as(tr(english), english, args);
}

std::string format_as(std::string_view translated, std::string_view english,
                      fmt::format_args args) {
  // A translation whose placeholders do not fit (a test looks for them) must not cost the answer.
  for (const std::string_view text : {translated, english}) {
    try {
      return fmt::vformat(text, args);
    } catch (const fmt::format_error&) {
      continue;
    }
  }
  return std::string(english);
}
}  // namespace detail

}  // namespace berth
