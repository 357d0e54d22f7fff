#pragma once
// Catalogue: translations in gettext's compiled form ("The Format of GNU MO Files" in gettext's
// manual), as they lie in memory. Internal to tr.cc and sentence_shown.cc.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace berth {

/// Reads a .mo file in memory, which must outlive it. Its texts are sorted by key, so a look-up is
/// a binary search. What is no such file has no texts.
class Catalogue {
 public:
  explicit Catalogue(std::string_view file) : file_(file) {}

  /// The translation; empty: there is none.
  [[nodiscard]] std::string_view find(std::string_view key) const;
  /// How many texts there are; key_at(i) for i below it.
  [[nodiscard]] std::uint32_t count() const;
  [[nodiscard]] std::string_view key_at(std::uint32_t i) const;

 private:
  [[nodiscard]] std::uint32_t word(std::size_t offset) const;
  [[nodiscard]] std::string_view text_at(std::size_t entry) const;
  std::string_view file_;
};

/// Unpacked when Chinese is wanted for the first time.
[[nodiscard]] Catalogue chinese_catalogue();

}  // namespace berth
