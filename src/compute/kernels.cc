#include "compute/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

namespace berth::compute {

namespace {

constexpr unsigned threads_per_block = 256;
/// Words that one block of threads fills.
constexpr std::uint32_t fill_share = threads_per_block;

std::span<float> floats(void* address, std::size_t count) {
  return {static_cast<float*>(address), count};
}

/// As the PTX below has it: one word per thread.
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

// The kernels' bodies for CUDA devices, in PTX 6.0 for compute capability 5.0. Any driver since
// CUDA 9 compiles them for its card, the newest included. So no toolkit is needed.

constexpr auto head = ".version 6.0\n.target sm_50\n.address_size 64\n";

/// "%f8, %f9, %f10, %f11".
std::string four(int first) {
  return fmt::format("%f{}, %f{}, %f{}, %f{}", first, first + 1, first + 2, first + 3);
}

// Registers of a thread of berth_multiply: its 16 sums, then what it just read.
constexpr int sum = 0;
constexpr int of_a = 16;
constexpr int of_b = 20;

/// One step of a tile: four rows of a times four columns of b.
std::string step_text(int k) {
  std::string text = fmt::format(
      "  ld.shared.v4.f32 {{{}}}, [%read_a+{}];\n"
      "  ld.shared.v4.f32 {{{}}}, [%read_b+{}];\n",
      four(of_a), k * 256, four(of_b), k * 256);
  for (int row = 0; row < 4; ++row) {
    for (int column = 0; column < 4; ++column) {
      const int target = sum + row * 4 + column;
      text += fmt::format("  fma.rn.f32 %f{0}, %f{1}, %f{2}, %f{0};\n", target, of_a + row,
                          of_b + column);
    }
  }
  return text;
}

std::string fill_ptx() {
  return std::string(head) + R"(
.visible .entry berth_fill(.param .u64 words, .param .u32 count, .param .u32 seed) {
  .reg .pred %out;
  .reg .u32 %i, %n, %x, %y;
  .reg .s32 %number;
  .reg .f32 %value;
  .reg .u64 %base, %offset;
  mov.u32 %i, %ctaid.x;
  mov.u32 %n, %ntid.x;
  mov.u32 %x, %tid.x;
  mad.lo.u32 %i, %i, %n, %x;
  ld.param.u32 %n, [count];
  setp.ge.u32 %out, %i, %n;
  @%out bra DONE;
  ld.param.u32 %y, [seed];
  mad.lo.u32 %x, %i, 2654435761, %y;
  shr.u32 %y, %x, 15;
  xor.b32 %x, %x, %y;
  mul.lo.u32 %x, %x, 2246822519;
  shr.u32 %y, %x, 13;
  xor.b32 %x, %x, %y;
  rem.u32 %x, %x, 5;
  sub.s32 %number, %x, 2;
  cvt.rn.f32.s32 %value, %number;
  ld.param.u64 %base, [words];
  cvta.to.global.u64 %base, %base;
  mul.wide.u32 %offset, %i, 4;
  add.u64 %base, %base, %offset;
  st.global.f32 [%base], %value;
DONE:
  ret;
}
)";
}

// A block of 16 × 16 threads makes a tile of 64 × 64. It brings 64 rows of a and 64 columns of b
// into shared memory, 16 steps at a time. The rows of a are turned, so that a column of the tile
// lies together. Each thread sums four rows by four columns in registers.
std::string multiply_ptx() {
  std::string text = std::string(head) + R"(
.visible .entry berth_multiply(.param .u64 a, .param .u64 b, .param .u64 product, .param .u32 side) {
  .reg .pred %more;
  .reg .u32 %tx, %ty, %t, %n, %k, %row, %column, %tile_a, %tile_b, %write_a, %write_b, %read_a, %read_b, %u;
  .reg .u64 %from_a, %from_b, %to, %offset, %step_b, %stride;
  .reg .f32 %f<24>;
  .shared .align 16 .b8 tiles[8192];
  mov.u32 %tx, %tid.x;
  mov.u32 %ty, %tid.y;
  mad.lo.u32 %t, %ty, 16, %tx;
  ld.param.u32 %n, [side];
  mul.wide.u32 %stride, %n, 4;
  mov.u32 %tile_a, tiles;
  add.u32 %tile_b, %tile_a, 4096;

  mov.u32 %u, %ctaid.y;
  shr.u32 %row, %t, 2;
  mad.lo.u32 %u, %u, 64, %row;
  and.b32 %column, %t, 3;
  shl.b32 %column, %column, 2;
  mul.wide.u32 %offset, %u, %n;
  cvt.u64.u32 %to, %column;
  add.u64 %offset, %offset, %to;
  shl.b64 %offset, %offset, 2;
  ld.param.u64 %from_a, [a];
  cvta.to.global.u64 %from_a, %from_a;
  add.u64 %from_a, %from_a, %offset;
  shl.b32 %write_a, %column, 8;
  shl.b32 %row, %row, 2;
  add.u32 %write_a, %write_a, %row;
  add.u32 %write_a, %write_a, %tile_a;

  shr.u32 %row, %t, 4;
  and.b32 %column, %t, 15;
  shl.b32 %column, %column, 2;
  mov.u32 %u, %ctaid.x;
  mad.lo.u32 %u, %u, 64, %column;
  mul.wide.u32 %offset, %row, %n;
  cvt.u64.u32 %to, %u;
  add.u64 %offset, %offset, %to;
  shl.b64 %offset, %offset, 2;
  ld.param.u64 %from_b, [b];
  cvta.to.global.u64 %from_b, %from_b;
  add.u64 %from_b, %from_b, %offset;
  shl.b64 %step_b, %stride, 4;
  shl.b32 %write_b, %row, 8;
  shl.b32 %column, %column, 2;
  add.u32 %write_b, %write_b, %column;
  add.u32 %write_b, %write_b, %tile_b;

  shl.b32 %read_a, %ty, 4;
  add.u32 %read_a, %read_a, %tile_a;
  shl.b32 %read_b, %tx, 4;
  add.u32 %read_b, %read_b, %tile_b;
)";
  for (int i = 0; i < 16; ++i) text += fmt::format("  mov.f32 %f{}, 0f00000000;\n", sum + i);
  text += "  mov.u32 %k, 0;\nNEXT:\n";
  text += fmt::format("  ld.global.v4.f32 {{{}}}, [%from_a];\n", four(of_a));
  text += fmt::format("  ld.global.v4.f32 {{{}}}, [%from_b];\n", four(of_b));
  for (int i = 0; i < 4; ++i) {
    text += fmt::format("  st.shared.f32 [%write_a+{}], %f{};\n", i * 256, of_a + i);
  }
  text += fmt::format("  st.shared.v4.f32 [%write_b], {{{}}};\n  bar.sync 0;\n", four(of_b));
  for (int k = 0; k < 16; ++k) text += step_text(k);
  text += R"(  bar.sync 0;
  add.u64 %from_a, %from_a, 64;
  add.u64 %from_b, %from_b, %step_b;
  add.u32 %k, %k, 16;
  setp.lt.u32 %more, %k, %n;
  @%more bra NEXT;

  mov.u32 %u, %ctaid.y;
  mul.lo.u32 %row, %ty, 4;
  mad.lo.u32 %row, %u, 64, %row;
  mov.u32 %u, %ctaid.x;
  mul.lo.u32 %column, %tx, 4;
  mad.lo.u32 %column, %u, 64, %column;
  mul.wide.u32 %offset, %row, %n;
  cvt.u64.u32 %to, %column;
  add.u64 %offset, %offset, %to;
  shl.b64 %offset, %offset, 2;
  ld.param.u64 %to, [product];
  cvta.to.global.u64 %to, %to;
  add.u64 %to, %to, %offset;
)";
  for (int row = 0; row < 4; ++row) {
    text += fmt::format("  st.global.v4.f32 [%to], {{{}}};\n", four(sum + row * 4));
    if (row < 3) text += "  add.u64 %to, %to, %stride;\n";
  }
  return text + "  ret;\n}\n";
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
