#pragma once
// Proves that a device really computes, and how fast. Results of matrix products and copies are
// checked word by word. What it should have done is not judged here.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "compute/device.h"

namespace berth::compute {

enum class ProofOf {
  opening,         // a context on the device
  multiply,        // operations: two per multiplication and addition, in single precision
  multiply_cpu,    // the same kernel on the CPU
  copy_inside,     // within the device's memory; bytes read and bytes written both count
  copy_in,         // from the program's memory
  copy_out,        // to it
  copy_in_pinned,  // from memory that the device reads by itself
  copy_out_pinned,
  copy_to_peer,
  closing,  // after the last of them
};
/// "multiply", "copy_in_pinned".
[[nodiscard]] std::string_view name_of(ProofOf what);

enum class ProofEnd {
  passed,
  wrong,       // it computed or copied something else than it should have
  failed,      // the driver refused
  unfinished,  // it did not come back in time, or took its process with it
};
[[nodiscard]] std::string_view name_of(ProofEnd end);

struct ProofStep {
  ProofOf what = ProofOf::opening;
  ProofEnd end = ProofEnd::passed;
  /// Operations or bytes per second, the best of several runs. Nothing: it did not pass, or there
  /// is no speed to it.
  std::optional<double> per_second;
  std::string detail;  // what was wrong, or how much was done: "4096 × 4096"
  std::string peer;    // copy_to_peer: whose memory
  friend bool operator==(const ProofStep&, const ProofStep&) = default;
};

struct ProofLimits {
  /// Memory of the device, all buffers together; less where less is free.
  std::size_t bytes = std::size_t{1} << 30U;
  /// A size is large enough once one run takes this long.
  Duration long_enough = std::chrono::milliseconds(10);
  /// All runs of a step together.
  Duration step = std::chrono::milliseconds(200);
};

/// Told when a step begins (`end` unfinished) and again when it is done.
using TellStep = std::function<void(const ProofStep&)>;

/// Every step but opening, closing and the peers'. False: one was refused, and nothing else is
/// asked: a CUDA context answers nothing any more then.
bool prove(Device& device, Device& cpu, Clock& clock, const ProofLimits& limits,
           const TellStep& tell);
bool prove_peer(Device& from, Device& to, const std::string& peer, Clock& clock,
                const ProofLimits& limits, const TellStep& tell);

// Whether a matrix is the product of two filled ones, without multiplying them again. It must
// change a vector as the two do one after the other (Freivalds): n² steps instead of n³. All is
// whole numbers, so nothing is nearly right. Any single wrong element is found, several in one row
// but for a chance of one in 65,536.

/// The first row that is wrong; nothing: none is. `product`: side × side floats, row by row, of
/// matrices filled with these seeds.
[[nodiscard]] std::optional<std::uint32_t> wrong_row(std::span<const std::uint32_t> product,
                                                     std::uint32_t side, std::uint32_t seed_a,
                                                     std::uint32_t seed_b);

/// The first word that is not what filling made it; nothing: none.
[[nodiscard]] std::optional<std::size_t> wrong_word(std::span<const std::uint32_t> words,
                                                    std::uint32_t seed);

}  // namespace berth::compute
