#pragma once
// JsonMembers: the members of an object of JSON in the order of the text, for nlohmann::basic_json.
// An object is one piece of memory, where a map has one for each member.

#include <cstddef>
#include <nlohmann/json.hpp>

namespace berth {

/// Growing copies all that is below, so the second member makes room for a line of a series. An
/// object with one member may be one of a million.
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

}  // namespace berth
