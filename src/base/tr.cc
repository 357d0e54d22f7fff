#include "base/tr.h"

#include <cstdint>
#include <cstring>

#include "base/catalogue.h"

// The compiled catalogue, placed here by catalogue.S.
extern "C" {
extern const unsigned char berth_catalogue_zh_CN[];
extern const unsigned char berth_catalogue_zh_CN_end[];
}

namespace berth {

namespace {

Language chosen = Language::english;  // written once by main before any thread exists

}  // namespace

std::string_view Catalogue::find(std::string_view key) const {
  constexpr std::uint32_t little_endian_magic = 0x950412de;
  if (file_.size() < 20 || word(0) != little_endian_magic) return {};
  const std::size_t keys = word(12);
  const std::size_t texts = word(16);
  std::size_t low = 0;
  std::size_t high = word(8);
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    const std::string_view candidate = text_at(keys + middle * 8);
    if (candidate == key) return text_at(texts + middle * 8);
    if (candidate < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return {};
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
Language current_language() { return chosen; }

std::string_view tr(std::string_view english) {
  if (chosen == Language::english || english.empty()) return english;
  const std::string_view file(
      reinterpret_cast<const char*>(berth_catalogue_zh_CN),
      static_cast<std::size_t>(berth_catalogue_zh_CN_end - berth_catalogue_zh_CN));
  const std::string_view found = Catalogue(file).find(english);
  return found.empty() ? english : found;
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
