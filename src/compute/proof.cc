#include "compute/proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "compute/kernels.h"

namespace berth::compute {

namespace {

constexpr std::uint32_t seed_a = 1;
constexpr std::uint32_t seed_b = 2;
// Elsewhere than where words lie that an earlier step left right.
constexpr std::uint32_t seed_poison = 7;
constexpr std::uint32_t most_side = 4096;
constexpr std::size_t first_copy = std::size_t{256} << 10U;
// Each result of a step is as likely to be wrong as another; so many of them are looked at.
constexpr int checks = 3;

/// What a step came to; an Error in its place: the driver refused.
struct Outcome {
  std::optional<double> per_second;  // nothing: it computed something else than it should have
  std::string detail;
};

double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

/// The fastest of as many runs as fit into the step. The first does not count: it loads the kernel.
/// An H200 takes longer for that than for a small product.
template <class Act>
Result<double> best_of(Clock& clock, Duration step, const Act& act) {
  if (auto done = act(); !done) return std::unexpected(std::move(done).error());
  const Instant end = clock.now() + step;
  double best = 0;
  do {
    const Instant begun = clock.now();
    if (auto done = act(); !done) return std::unexpected(std::move(done).error());
    // A clock that stood still would make everything infinitely fast.
    const double took = std::max(seconds(clock.now() - begun), 1e-9);
    if (best == 0 || took < best) best = took;
  } while (clock.now() < end);
  return best;
}

struct Square {
  Buffer a;
  Buffer b;
  Buffer product;
  std::uint32_t side = 0;
};

Result<Square> make_square(Device& device, std::uint32_t side) {
  const std::size_t bytes = std::size_t{side} * side * sizeof(float);
  auto a = device.allocate(bytes);
  if (!a) return std::unexpected(std::move(a).error());
  auto b = device.allocate(bytes);
  if (!b) return std::unexpected(std::move(b).error());
  auto product = device.allocate(bytes);
  if (!product) return std::unexpected(std::move(product).error());
  for (const auto& [buffer, seed] :
       {std::pair{&*a, seed_a}, {&*b, seed_b}, {&*product, seed_poison}}) {
    if (auto filled = run(fill_kernel, fill_arguments(*buffer, seed)); !filled) {
      return std::unexpected(std::move(filled).error());
    }
  }
  return Square{std::move(*a), std::move(*b), std::move(*product), side};
}

Result<std::optional<std::uint32_t>> wrong_row_of(const Square& square, Device& cpu) {
  if (square.product.is_host()) {
    return wrong_row(square.product.words(), square.side, seed_a, seed_b);
  }
  auto mine = cpu.allocate(square.product.bytes());
  if (!mine) return std::unexpected(std::move(mine).error());
  if (auto copied = copy(square.product, *mine); !copied) {
    return std::unexpected(std::move(copied).error());
  }
  return wrong_row(mine->words(), square.side, seed_a, seed_b);
}

Result<void> fill(Buffer& buffer, std::uint32_t seed) {
  if (!buffer.is_host()) return run(fill_kernel, fill_arguments(buffer, seed));
  std::uint32_t i = 0;
  for (std::uint32_t& word : buffer.words()) word = filled_word(i++, seed);
  return {};
}

/// Does it `times` times. Each time something else stands in its place before. Says where the first
/// wrong result is wrong.
template <class Act, class Poison, class Check>
auto first_wrong(int times, const Act& act, const Poison& poison, const Check& check)
    -> decltype(check()) {
  for (int i = 0; i < times; ++i) {
    for (const Result<void>& done : {poison(), act()}) {
      if (!done) return std::unexpected(done.error());
    }
    auto wrong = check();
    if (!wrong || *wrong) return wrong;
  }
  return decltype(check())(std::nullopt);
}

/// Ever larger products, each checked, until one takes long enough; that one's speed.
Result<Outcome> multiply(Device& device, Device& cpu, Clock& clock, const ProofLimits& limits) {
  for (std::uint32_t side = tile;; side *= 2) {
    auto square = make_square(device, side);
    if (!square) return std::unexpected(std::move(square).error());
    const auto act = [&] {
      return run(multiply_kernel,
                 multiply_arguments(square->a, square->b, square->product, square->side));
    };
    auto took = best_of(clock, Duration(0), act);
    if (!took) return std::unexpected(std::move(took).error());
    const std::size_t next = std::size_t{side} * side * 4 * 3 * sizeof(float);
    const bool is_last =
        *took >= seconds(limits.long_enough) || side == most_side || next > limits.bytes;
    if (is_last) took = best_of(clock, limits.step, act);
    if (!took) return std::unexpected(std::move(took).error());
    const auto wrong = first_wrong(
        is_last ? checks : 1, act, [&] { return fill(square->product, seed_poison); },
        [&] { return wrong_row_of(*square, cpu); });
    if (!wrong) return std::unexpected(wrong.error());
    const std::string size = fmt::format("{} × {}", side, side);
    if (*wrong) return Outcome{std::nullopt, fmt::format("row {} of {}", **wrong, size)};
    if (is_last) return Outcome{2.0 * side * side * side / *took, size};
  }
}

/// Ever larger copies until one takes long enough; what arrived is checked. `carries`: how often
/// each byte crosses what is measured.
struct Copy {
  Device& from;
  Device& to;
  Memory from_memory = Memory::own;
  Memory to_memory = Memory::own;
  double carries = 1;
};

Result<std::optional<std::size_t>> wrong_word_of(const Buffer& buffer, Device& cpu) {
  if (buffer.is_host()) return wrong_word(buffer.words(), seed_a);
  auto mine = cpu.allocate(buffer.bytes());
  if (!mine) return std::unexpected(std::move(mine).error());
  if (auto copied = copy(buffer, *mine); !copied) return std::unexpected(std::move(copied).error());
  return wrong_word(mine->words(), seed_a);
}

Result<Outcome> time_copy(const Copy& way, Device& cpu, Clock& clock, const ProofLimits& limits) {
  const std::size_t most = limits.bytes / 4 / sizeof(float) * sizeof(float);
  for (std::size_t bytes = std::min(first_copy, most);; bytes = std::min(bytes * 8, most)) {
    auto from = way.from.allocate(bytes, way.from_memory);
    if (!from) return std::unexpected(std::move(from).error());
    auto to = way.to.allocate(bytes, way.to_memory);
    if (!to) return std::unexpected(std::move(to).error());
    if (auto done = fill(*from, seed_a); !done) return std::unexpected(std::move(done).error());
    const auto act = [&] { return copy(*from, *to); };
    auto took = best_of(clock, Duration(0), act);
    if (!took) return std::unexpected(std::move(took).error());
    if (*took < seconds(limits.long_enough) && bytes < most) continue;
    took = best_of(clock, limits.step, act);
    if (!took) return std::unexpected(std::move(took).error());
    const auto wrong = first_wrong(
        checks, act, [&] { return fill(*to, seed_poison); },
        [&] { return wrong_word_of(*to, cpu); });
    if (!wrong) return std::unexpected(wrong.error());
    if (*wrong) return Outcome{std::nullopt, fmt::format("word {} of {}", **wrong, bytes / 4)};
    return Outcome{way.carries * static_cast<double>(bytes) / *took,
                   fmt::format("{} bytes", bytes)};
  }
}

/// False: nothing else can be asked of the device.
template <class Act>
bool step(ProofOf what, const std::string& peer, const TellStep& tell, const Act& act) {
  tell({.what = what, .end = ProofEnd::unfinished, .peer = peer});
  const Result<Outcome> outcome = act();
  ProofStep told{.what = what, .peer = peer};
  if (!outcome) {
    told.end = ProofEnd::failed;
    told.detail = outcome.error().message();
  } else {
    told.end = outcome->per_second ? ProofEnd::passed : ProofEnd::wrong;
    told.detail = outcome->detail;
    told.per_second = outcome->per_second;
  }
  tell(told);
  return outcome.has_value();
}

/// No more than a quarter of what is free: somebody may be about to need it.
ProofLimits within_free(Device& device, ProofLimits limits) {
  if (const auto free = device.free_bytes()) limits.bytes = std::min(limits.bytes, *free / 4);
  return limits;
}

}  // namespace

std::string_view name_of(ProofOf what) {
  constexpr std::string_view names[] = {
      "opening",  "multiply",       "multiply_cpu",    "copy_inside",  "copy_in",
      "copy_out", "copy_in_pinned", "copy_out_pinned", "copy_to_peer", "closing"};
  return names[static_cast<int>(what)];
}

std::string_view name_of(ProofEnd end) {
  constexpr std::string_view names[] = {"passed", "wrong", "failed", "unfinished"};
  return names[static_cast<int>(end)];
}

bool prove(Device& device, Device& cpu, Clock& clock, const ProofLimits& wanted,
           const TellStep& tell) {
  // Asked within a step: what hangs is then named.
  const auto limits = [&] { return within_free(device, wanted); };
  const auto copies = [&](ProofOf what, const Copy& way) {
    return step(what, "", tell, [&] { return time_copy(way, cpu, clock, limits()); });
  };
  // The CPU has no pinned memory: it is the device's to lock.
  return step(ProofOf::multiply, "", tell,
              [&] { return multiply(device, cpu, clock, limits()); }) &&
         step(ProofOf::multiply_cpu, "", tell,
              [&] { return multiply(cpu, cpu, clock, limits()); }) &&
         copies(ProofOf::copy_inside, {device, device, Memory::own, Memory::own, 2}) &&
         copies(ProofOf::copy_in, {cpu, device}) && copies(ProofOf::copy_out, {device, cpu}) &&
         copies(ProofOf::copy_in_pinned, {device, device, Memory::pinned, Memory::own}) &&
         copies(ProofOf::copy_out_pinned, {device, device, Memory::own, Memory::pinned});
}

bool prove_peer(Device& from, Device& to, const std::string& peer, Clock& clock,
                const ProofLimits& wanted, const TellStep& tell) {
  const auto cpu = make_cpu(1);
  return step(ProofOf::copy_to_peer, peer, tell, [&] {
    return time_copy({from, to}, *cpu, clock, within_free(to, within_free(from, wanted)));
  });
}

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
