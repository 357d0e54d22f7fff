#pragma once
// How far a word that was typed is from one that exists.

#include <cstddef>
#include <string_view>

namespace berth {

/// How many letters to add, leave out, replace or swap with their neighbour. Takes time by the
/// product of the lengths: the caller cuts a stranger's word first.
[[nodiscard]] std::size_t letters_apart(std::string_view one, std::string_view other);

}  // namespace berth
