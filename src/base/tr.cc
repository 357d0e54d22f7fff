#include "base/tr.h"

#include <cstdint>
#include <cstring>

// The compiled catalogue (gettext's .mo format, "The Format of GNU MO Files" in gettext's manual),
// placed here by catalogue.S.
extern "C" {
extern const unsigned char berth_catalogue_zh_CN[];
extern const unsigned char berth_catalogue_zh_CN_end[];
}

namespace berth {

namespace {

Language chosen = Language::english;  // written once by main before any thread exists

/// Reads a .mo file in memory. Its texts are sorted by key, so a look-up is a binary search.
class Catalogue {
 public:
  Catalogue(const unsigned char* begin, const unsigned char* end)
      : begin_(begin), size_(static_cast<std::size_t>(end - begin)) {}

  [[nodiscard]] std::string_view find(std::string_view key) const {
    constexpr std::uint32_t little_endian_magic = 0x950412de;
    if (size_ < 20 || word(0) != little_endian_magic) return {};
    const std::uint32_t count = word(8);
    const std::uint32_t keys = word(12);
    const std::uint32_t texts = word(16);
    std::uint32_t low = 0;
    std::uint32_t high = count;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
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

 private:
  [[nodiscard]] std::uint32_t word(std::size_t offset) const {
    std::uint32_t value = 0;
    if (offset + 4 <= size_) std::memcpy(&value, begin_ + offset, 4);
    return value;
  }
  [[nodiscard]] std::string_view text_at(std::size_t entry) const {
    const std::size_t length = word(entry);
    const std::size_t offset = word(entry + 4);
    if (offset + length > size_) return {};
    return {reinterpret_cast<const char*>(begin_ + offset), length};
  }

  const unsigned char* begin_;
  std::size_t size_;
};

}  // namespace

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
  const Catalogue catalogue(berth_catalogue_zh_CN, berth_catalogue_zh_CN_end);
  const std::string_view found = catalogue.find(english);
  return found.empty() ? english : found;
}

namespace detail {
std::string format_translated(std::string_view english, fmt::format_args args) {
  try {
    return fmt::vformat(tr(english), args);
  } catch (const fmt::format_error&) {
    // A translation whose placeholders do not fit (a test looks for them) must not cost the answer.
    return fmt::vformat(english, args);
  }
}
}  // namespace detail

}  // namespace berth
