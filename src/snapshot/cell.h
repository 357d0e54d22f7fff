#pragma once
// Cell: one field of one device with its type erased, as the field table hands it around.

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "base/archive.h"
#include "base/reading.h"
#include "base/units.h"

namespace berth {

/// One field of one device, its type erased: the number in the field's unit, or why there is none.
using Cell = Reading<Scalar>;

// Between a reading of a strong type and a cell. cell_of() erases the type. reading_of() brings it
// back, only where nothing is lost: 4096.0 is a whole number of bytes, 1.5 is not.

inline Scalar cell_value(const std::string& text) { return text; }
inline Scalar cell_value(bool yes) { return yes; }
inline Scalar cell_value(std::uint64_t number) { return number; }
template <class Tag, class Rep>
Scalar cell_value(Quantity<Tag, Rep> quantity) {
  return quantity.count();
}

template <class T>
struct FromCell;  // read(Scalar) -> optional<T>

template <>
struct FromCell<std::string> {
  static std::optional<std::string> read(const Scalar& value) {
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    return std::nullopt;
  }
};
template <>
struct FromCell<bool> {
  static std::optional<bool> read(const Scalar& value) {
    if (const auto* yes = std::get_if<bool>(&value)) return *yes;
    return std::nullopt;
  }
};

/// A number of another type only where nothing is lost.
template <class To>
std::optional<To> exact_number(const Scalar& value) {
  return std::visit(
      [](const auto& number) -> std::optional<To> {
        using From = std::decay_t<decltype(number)>;
        if constexpr (std::is_same_v<From, std::string> || std::is_same_v<From, bool>) {
          return std::nullopt;
        } else if constexpr (std::is_floating_point_v<To>) {
          return static_cast<To>(number);
        } else if constexpr (std::is_floating_point_v<From>) {
          if (!(number >= -9.0e15 && number <= 9.0e15)) return std::nullopt;
          const auto whole = static_cast<std::int64_t>(number);
          if (static_cast<double>(whole) != number || !std::in_range<To>(whole)) {
            return std::nullopt;
          }
          return static_cast<To>(whole);
        } else {
          if (!std::in_range<To>(number)) return std::nullopt;
          return static_cast<To>(number);
        }
      },
      value);
}

template <>
struct FromCell<std::uint64_t> {
  static std::optional<std::uint64_t> read(const Scalar& value) {
    return exact_number<std::uint64_t>(value);
  }
};
template <class Tag, class Rep>
struct FromCell<Quantity<Tag, Rep>> {
  static std::optional<Quantity<Tag, Rep>> read(const Scalar& value) {
    const auto number = exact_number<Rep>(value);
    if (!number) return std::nullopt;
    return Quantity<Tag, Rep>(*number);
  }
};

template <class T>
Cell cell_of(const Reading<T>& reading) {
  if (!reading.get()) return reading.why();
  return cell_value(*reading.get());
}

/// Nothing: the cell holds a value that is none of T.
template <class T>
std::optional<Reading<T>> reading_of(const Cell& cell) {
  if (!cell.get()) return std::optional<Reading<T>>(std::in_place, cell.why());
  auto value = FromCell<T>::read(*cell.get());
  if (!value) return std::nullopt;
  return std::optional<Reading<T>>(std::in_place, std::move(*value));
}

}  // namespace berth
