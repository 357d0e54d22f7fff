#pragma once
// JSON as a tree: what others wrote, and what has no type of its own. A type's JSON follows from
// its walk() (base/archive.h). nlohmann's header costs seconds: few headers of ours include this.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/result.h"

namespace berth {

/// Members in the order of the text. An object is one piece of memory, where a map has one for each
/// member. Growing copies all that is below, so the second member makes room for a line of a
/// series. An object with one member may be one of a million.
template <class Key, class T, class Less, class Allocator>
struct JsonMembers : nlohmann::ordered_map<Key, T, Less, Allocator> {
  using Base = nlohmann::ordered_map<Key, T, Less, Allocator>;
  using Base::Base;
  T& operator[](const Key& key) {
    constexpr std::size_t usual = 8;
    if (this->size() == 1) this->reserve(usual);
    return Base::operator[](key);
  }
};
using Json = nlohmann::basic_json<JsonMembers>;
/// Members by name: a file of weights has a hundred thousand in one object.
using ForeignJson = nlohmann::json;

/// Ours nest to a tenth of that. A tree is copied, written and taken down by recursion.
inline constexpr int deepest_json = 100;
/// invalid: it is none, with line and column, or nested too deeply. Throws where memory runs out.
[[nodiscard]] Result<Json> parse_json(std::string_view text, int deepest = deepest_json);
/// Null: it is none, or nested too deeply.
[[nodiscard]] ForeignJson parse_foreign_json(std::string_view text);
/// A member of an object; null: it has none, or is no object.
[[nodiscard]] const ForeignJson& member_of(const ForeignJson& object, const char* key);
/// On one line. Bytes that are no UTF-8 are replaced.
[[nodiscard]] std::string json_line(const Json& json);

/// The number, where the value is one and T can hold it: 3.5 is no whole number, -5 no size.
/// nlohmann's get() would make 18446744073709551611 bytes of -5, and a pid of anything.
template <class T, class AnyJson>
[[nodiscard]] std::optional<T> number_in(const AnyJson& value) {
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
