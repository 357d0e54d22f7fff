#include "compute/product_check.h"

#include <bit>
#include <vector>

#include "compute/kernels.h"

namespace berth::compute {

namespace {

using Vector = std::vector<std::int64_t>;

/// A filled matrix times a vector.
Vector times(std::uint32_t side, std::uint32_t seed, const Vector& x) {
  Vector y(side, 0);
  std::uint32_t i = 0;
  for (std::int64_t& sum : y) {
    for (const std::int64_t value : x) sum += filled_number(i++, seed) * value;
  }
  return y;
}

/// Row times vector; nothing: an element is no whole number that could stand there.
std::optional<std::int64_t> row_times(std::span<const std::uint32_t> row, const Vector& x) {
  const auto most = static_cast<float>(4 * row.size());
  std::int64_t sum = 0;
  for (std::size_t j = 0; j < row.size(); ++j) {
    const auto value = std::bit_cast<float>(row[j]);
    if (!(value >= -most && value <= most)) return std::nullopt;
    const auto whole = static_cast<std::int64_t>(value);
    if (static_cast<float>(whole) != value) return std::nullopt;
    sum += whole * x[j];
  }
  return sum;
}

}  // namespace

std::optional<std::uint32_t> wrong_row(std::span<const std::uint32_t> product, std::uint32_t side,
                                       std::uint32_t seed_a, std::uint32_t seed_b) {
  // From 1 to 65,536: none is 0, which would hide what stands in its column.
  Vector x(side);
  std::uint32_t mixed = 0x9E3779B9U;
  for (std::int64_t& value : x) {
    mixed = mixed * 1664525U + 1013904223U;
    value = 1 + (mixed >> 16U);
  }
  const Vector wanted = times(side, seed_a, times(side, seed_b, x));
  for (std::uint32_t row = 0; row < side; ++row) {
    if (row_times(product.subspan(std::size_t{row} * side, side), x) != wanted[row]) return row;
  }
  return std::nullopt;
}

std::optional<std::size_t> wrong_word(std::span<const std::uint32_t> words, std::uint32_t seed) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] != filled_word(static_cast<std::uint32_t>(i), seed)) return i;
  }
  return std::nullopt;
}

}  // namespace berth::compute
