#pragma once
// Whether a matrix is the product of two filled ones, without multiplying them again: what it does
// to a vector must be what they do to it one after the other (Freivalds), n² steps instead of n³.
// All is whole numbers, so nothing is nearly right; any single wrong element is found, several in
// one row but for a chance of one in 65,536.

#include <cstdint>
#include <optional>
#include <span>

namespace berth::compute {

/// The first row that is wrong; nothing: none is. `product`: side × side floats, row by row, of
/// matrices filled with these seeds.
[[nodiscard]] std::optional<std::uint32_t> wrong_row(std::span<const std::uint32_t> product,
                                                     std::uint32_t side, std::uint32_t seed_a,
                                                     std::uint32_t seed_b);

/// The first word that is not what filling made it; nothing: none.
[[nodiscard]] std::optional<std::size_t> wrong_word(std::span<const std::uint32_t> words,
                                                    std::uint32_t seed);

}  // namespace berth::compute
