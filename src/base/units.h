#pragma once
// Numbers that know their unit. A Bytes cannot be added to a Megahertz. The signature of `minus`
// shows that a subtraction may fall below zero. Drivers disagree with themselves: "total - used"
// has wrapped in most GPU tools at least once.

#include <compare>
#include <cstdint>
#include <optional>

namespace berth {

/// A number of one unit. `Tag` makes each unit its own type; `Rep` is what it is counted in.
template <class Tag, class Rep>
class Quantity {
 public:
  using rep = Rep;

  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep count) : count_(count) {}

  [[nodiscard]] constexpr Rep count() const { return count_; }

  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity(static_cast<Rep>(a.count_ + b.count_));
  }
  constexpr Quantity& operator+=(Quantity other) { return *this = *this + other; }

 private:
  Rep count_{};
};

/// a - b, or nothing where the answer would be below zero.
template <class Tag, class Rep>
[[nodiscard]] constexpr std::optional<Quantity<Tag, Rep>> minus(Quantity<Tag, Rep> a,
                                                                Quantity<Tag, Rep> b) {
  if (a < b) return std::nullopt;
  return Quantity<Tag, Rep>(static_cast<Rep>(a.count() - b.count()));
}

using Bytes = Quantity<struct BytesTag, std::uint64_t>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag, std::uint64_t>;
using Milliwatts = Quantity<struct MilliwattsTag, std::uint64_t>;
using Millijoules = Quantity<struct MillijoulesTag, std::uint64_t>;
using Celsius = Quantity<struct CelsiusTag, std::int64_t>;
using Percent = Quantity<struct PercentTag, double>;  // 0 to 100 (CPU may exceed 100)
using Megahertz = Quantity<struct MegahertzTag, std::uint64_t>;
using Milliseconds = Quantity<struct MillisecondsTag, std::int64_t>;
using Microseconds = Quantity<struct MicrosecondsTag, std::uint64_t>;
using Seconds = Quantity<struct SecondsTag, std::uint64_t>;
using Millivolts = Quantity<struct MillivoltsTag, std::uint64_t>;

namespace literals {
constexpr Bytes operator""_B(unsigned long long n) { return Bytes(n); }
constexpr Bytes operator""_MiB(unsigned long long n) { return Bytes(n << 20); }
constexpr Bytes operator""_GiB(unsigned long long n) { return Bytes(n << 30); }
constexpr Percent operator""_percent(unsigned long long n) {
  return Percent(static_cast<double>(n));
}
constexpr Celsius operator""_celsius(unsigned long long n) {
  return Celsius(static_cast<std::int64_t>(n));
}
constexpr Milliwatts operator""_watts(unsigned long long n) { return Milliwatts(n * 1000); }
constexpr Megahertz operator""_MHz(unsigned long long n) { return Megahertz(n); }
}  // namespace literals

}  // namespace berth
