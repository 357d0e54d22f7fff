#include "compute/kernels.h"

#include <algorithm>
#include <array>
#include <bit>

#include "compute/ptx.h"

namespace berth::compute {

namespace {

constexpr unsigned threads_per_block = 256;
/// Words that one block of threads fills.
constexpr std::uint32_t fill_share = threads_per_block;

std::span<float> floats(void* address, std::size_t count) {
  return {static_cast<float*>(address), count};
}

/// As ptx.cc has it: one word per thread.
void fill_block(std::span<void* const> buffers, std::span<const std::uint32_t> numbers,
                const Shape& /*shape*/, unsigned block, unsigned /*block_y*/) {
  const std::uint32_t count = numbers[0];
  auto* words = static_cast<std::uint32_t*>(buffers[0]);
  const std::uint64_t begin = std::uint64_t{block} * fill_share;
  const std::uint64_t end = std::min<std::uint64_t>(begin + fill_share, count);
  for (std::uint64_t i = begin; i < end; ++i) {
    words[i] = filled_word(static_cast<std::uint32_t>(i), numbers[1]);
  }
}

/// One tile of the product. The innermost loop runs along a row, so that the compiler computes many
/// columns at once.
void multiply_block(std::span<void* const> buffers, std::span<const std::uint32_t> numbers,
                    const Shape& /*shape*/, unsigned block_x, unsigned block_y) {
  const std::size_t side = numbers[0];
  const auto a = floats(buffers[0], side * side);
  const auto b = floats(buffers[1], side * side);
  const auto product = floats(buffers[2], side * side);
  const std::size_t column = std::size_t{block_x} * tile;
  for (std::size_t row = std::size_t{block_y} * tile; row < (std::size_t{block_y} + 1) * tile;
       ++row) {
    std::array<float, tile> sums{};
    for (std::size_t k = 0; k < side; ++k) {
      const float factor = a[row * side + k];
      const float* of_b = &b[k * side + column];
      for (std::size_t j = 0; j < tile; ++j) sums[j] += factor * of_b[j];
    }
    std::ranges::copy(sums, product.begin() + static_cast<std::ptrdiff_t>(row * side + column));
  }
}

}  // namespace

int filled_number(std::uint32_t i, std::uint32_t seed) {
  std::uint32_t mixed = i * 2654435761U + seed;
  mixed = (mixed ^ (mixed >> 15U)) * 2246822519U;
  mixed ^= mixed >> 13U;
  return static_cast<int>(mixed % 5U) - 2;
}

std::uint32_t filled_word(std::uint32_t i, std::uint32_t seed) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(filled_number(i, seed)));
}

const Kernel fill_kernel = {.name = "berth_fill", .ptx = &fill_ptx, .block = &fill_block};
const Kernel multiply_kernel = {
    .name = "berth_multiply", .ptx = &multiply_ptx, .block = &multiply_block};

Arguments fill_arguments(Buffer& buffer, std::uint32_t seed) {
  const auto words = static_cast<std::uint32_t>(buffer.bytes() / sizeof(std::uint32_t));
  const unsigned blocks = words / fill_share + (words % fill_share == 0 ? 0 : 1);
  return {.buffers = {&buffer},
          .numbers = {words, seed},
          .shape = {.grid_x = blocks, .block_x = threads_per_block}};
}

Arguments multiply_arguments(Buffer& a, Buffer& b, Buffer& product, std::uint32_t side) {
  const unsigned tiles = side / tile;
  return {.buffers = {&a, &b, &product},
          .numbers = {side},
          .shape = {.grid_x = tiles, .grid_y = tiles, .block_x = 16, .block_y = 16}};
}

}  // namespace berth::compute
