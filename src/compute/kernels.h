#pragma once
// The two computations that prove a device. One fills memory with reproducible numbers, one
// multiplies two square matrices of them. All numbers are whole and small, so single precision is
// exact. A result is right or wrong, never nearly right.

#include <cstdint>

#include "compute/device.h"

namespace berth::compute {

/// Word i of a filled buffer, as the bits of a float: -2, -1, 0, 1 or 2, by chance.
[[nodiscard]] std::uint32_t filled_word(std::uint32_t i, std::uint32_t seed);
/// The same as the number that it is.
[[nodiscard]] int filled_number(std::uint32_t i, std::uint32_t seed);

/// Words of a square matrix are shared out in tiles of this many rows and columns.
inline constexpr std::uint32_t tile = 64;

extern const Kernel fill_kernel;
extern const Kernel multiply_kernel;

/// Fills the whole buffer.
[[nodiscard]] Arguments fill_arguments(Buffer& buffer, std::uint32_t seed);
/// product = a · b, each of `side` rows and columns, row by row. `side`: a multiple of `tile`.
[[nodiscard]] Arguments multiply_arguments(Buffer& a, Buffer& b, Buffer& product,
                                           std::uint32_t side);

}  // namespace berth::compute
