#pragma once
// How many members a struct has, so that the compiler names the table that lacks one:
//
//   static_assert(member_count<Sample>() == rows.size(), "each member of Sample has a row");
//   static_assert(all_counted<Members<Claim, 14>, Members<Waiter, 15>>);

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

template <class Struct, std::size_t Known>
struct Members {
  static_assert(member_count<Struct>() == Known, "a new member: what stands beside wants it, too");
};
/// The compiler names the first that has another number of members.
template <class... Counted>
constexpr bool all_counted = (sizeof(Counted) + ...) > 0;

}  // namespace berth
