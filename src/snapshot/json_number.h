#pragma once
// Numbers out of JSON that somebody else wrote: nlohmann's get() would make 18446744073709551611
// bytes of -5 and a pid of anything. For .cc files that read JSON.

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

namespace berth {

/// The number, where the value is one and T can hold it: 3.5 is no whole number, -5 no size.
template <class T, class Json>
[[nodiscard]] std::optional<T> number_in(const Json& value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (value.is_number()) return value.template get<T>();
  } else if (value.is_number_unsigned()) {
    const auto number = value.template get<std::uint64_t>();
    if (std::in_range<T>(number)) return static_cast<T>(number);
  } else if (value.is_number_integer()) {
    const auto number = value.template get<std::int64_t>();
    if (std::in_range<T>(number)) return static_cast<T>(number);
  }
  return std::nullopt;
}

}  // namespace berth
