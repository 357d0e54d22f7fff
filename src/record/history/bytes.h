#pragma once
// Numbers as bytes, for blocks: varints (seven bits a byte, least first), zig-zag for signed ones,
// and a reader that never goes beyond its end.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct z_stream_s;

namespace berth::history {

[[nodiscard]] constexpr std::uint64_t zigzag(std::int64_t number) {
  return (static_cast<std::uint64_t>(number) << 1) ^ static_cast<std::uint64_t>(number >> 63);
}
[[nodiscard]] constexpr std::int64_t unzigzag(std::uint64_t coded) {
  return static_cast<std::int64_t>((coded >> 1) ^ (~(coded & 1) + 1));
}

inline void put_varint(std::string& into, std::uint64_t number) {
  while (number >= 0x80) {
    into += static_cast<char>(static_cast<std::uint8_t>(number) | 0x80U);
    number >>= 7;
  }
  into += static_cast<char>(number);
}
inline void put_signed(std::string& into, std::int64_t number) { put_varint(into, zigzag(number)); }

/// Reads from the front; nothing: the bytes end, or are no number.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}
  [[nodiscard]] std::string_view rest() const { return rest_; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

  [[nodiscard]] std::optional<std::uint8_t> byte() {
    if (rest_.empty()) return std::nullopt;
    const auto first = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return first;
  }
  [[nodiscard]] std::optional<std::uint64_t> varint() {
    std::uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto next = byte();
      if (!next) return std::nullopt;
      const std::uint64_t bits = *next & 0x7FU;
      if (shift == 63 && bits > 1) return std::nullopt;
      number |= bits << shift;
      if ((*next & 0x80U) == 0) return number;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<std::int64_t> signed_varint() {
    const auto coded = varint();
    return coded ? std::optional(unzigzag(*coded)) : std::nullopt;
  }
  [[nodiscard]] std::optional<std::string_view> bytes(std::uint64_t count) {
    if (count > rest_.size()) return std::nullopt;
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(count));
    rest_.remove_prefix(taken.size());
    return taken;
  }

 private:
  std::string_view rest_;
};

/// The bytes with a checksum of 32 bits behind them (FNV-1a): a flipped bit is noticed, and no
/// wrong number comes out.
[[nodiscard]] std::string sealed(std::string bytes);
/// Nothing: too short, or the checksum is another one's.
[[nodiscard]] std::optional<std::string_view> unsealed(std::string_view block);

/// What deflate is given: any bytes, or small numbers that are mostly noise. There a match of a few
/// bytes takes more room than the bytes.
enum class Squeezing { bytes, noise };

/// Deflate (RFC 1951, without a frame) with what it works in. To make that costs more than to
/// squeeze a small block.
class Squeezer {
 public:
  /// zlib's levels, 1 to 9.
  explicit Squeezer(int level, Squeezing what = Squeezing::bytes);
  /// Empty: zlib could not.
  [[nodiscard]] std::string squeezed(std::string_view bytes) const;

 private:
  struct EndStream {
    void operator()(z_stream_s* stream) const;
  };
  std::unique_ptr<z_stream_s, EndStream> stream_;
};
/// Nothing: not deflate's, cut off, more behind it, or more than `most` bytes.
[[nodiscard]] std::optional<std::string> unsqueezed(std::string_view bytes, std::size_t most);

}  // namespace berth::history
