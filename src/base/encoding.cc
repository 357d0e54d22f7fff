#include "base/encoding.h"

#include <algorithm>
#include <optional>

namespace berth {

namespace {

enum class ByteOrder { little, big };

std::optional<ByteOrder> utf16_order(std::string_view beginning) {
  if (beginning.starts_with("\xff\xfe")) return ByteOrder::little;
  if (beginning.starts_with("\xfe\xff")) return ByteOrder::big;
  return std::nullopt;
}

void append_character(std::string& text, char32_t code) {
  const auto put = [&](char32_t byte) { text += static_cast<char>(byte); };
  const auto put_rest = [&](int shift) { put(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | (code >> 6));
    put_rest(0);
  } else if (code < 0x10000) {
    put(0xe0 | (code >> 12));
    put_rest(6);
    put_rest(0);
  } else {
    put(0xf0 | (code >> 18));
    put_rest(12);
    put_rest(6);
    put_rest(0);
  }
}

constexpr bool is_high(char32_t unit) { return unit >= 0xd800 && unit < 0xdc00; }
constexpr bool is_low(char32_t unit) { return unit >= 0xdc00 && unit < 0xe000; }

/// The 16 bits at each even place; an odd last byte is no unit.
class Units {
 public:
  Units(std::string_view bytes, ByteOrder order) : bytes_(bytes), order_(order) {}
  [[nodiscard]] std::size_t count() const { return bytes_.size() / 2; }
  [[nodiscard]] char32_t at(std::size_t i) const {
    const auto first = static_cast<unsigned char>(bytes_[2 * i]);
    const auto second = static_cast<unsigned char>(bytes_[2 * i + 1]);
    return order_ == ByteOrder::little ? static_cast<char32_t>(second << 8 | first)
                                       : static_cast<char32_t>(first << 8 | second);
  }

 private:
  std::string_view bytes_;
  ByteOrder order_;
};

std::string utf8_of(const Units& units) {
  constexpr char32_t replacement = 0xfffd;
  std::string text;
  text.reserve(units.count());
  for (std::size_t i = 0; i < units.count(); ++i) {
    const char32_t unit = units.at(i);
    if (is_high(unit) && i + 1 < units.count() && is_low(units.at(i + 1))) {
      append_character(text, 0x10000 + ((unit - 0xd800) << 10) + (units.at(++i) - 0xdc00));
    } else {
      append_character(text, is_high(unit) || is_low(unit) ? replacement : unit);
    }
  }
  return text;
}

}  // namespace

std::string as_utf8(std::string end, std::string_view beginning, std::uint64_t left_out) {
  const auto order = utf16_order(beginning);
  if (!order) {
    if (left_out == 0 && beginning.starts_with("\xef\xbb\xbf")) end.erase(0, 3);
    return end;
  }
  std::string_view bytes = end;
  // The mark itself, or the second half of a character whose first was left out.
  bytes.remove_prefix(std::min<std::size_t>(left_out == 0 ? 2 : left_out % 2, bytes.size()));
  return utf8_of(Units(bytes, *order));
}

}  // namespace berth
