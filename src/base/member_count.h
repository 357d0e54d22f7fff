#pragma once
// How many members a struct has, so that the compiler names the table that lacks one:
//
//   static_assert(member_count<Sample>() == rows.size(), "each member of Sample has a row");

#include <cstddef>

namespace berth {

struct AnyMember {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor)
};

/// Of an aggregate without bases.
template <class Struct, class... Known>
consteval std::size_t member_count() {
  if constexpr (requires { Struct{Known{}..., AnyMember{}}; }) {
    return member_count<Struct, Known..., AnyMember>();
  } else {
    return sizeof...(Known);
  }
}

}  // namespace berth
