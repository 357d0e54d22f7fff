#pragma once
// PyTorch's message that the GPU's memory is used up, as numbers. Its wording changed with time
// (c10/cuda/CUDACachingAllocator.cpp). Up to 1.3: "… already allocated; … free; … cached". Up to
// 2.0: "… reserved in total by PyTorch". Then sentences that name the processes on the device.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace berth {

/// Unit    bytes, as precise as two decimals of the message's own unit.
/// Absent  that version's wording does not tell it.
struct OomMessage {
  Bytes tried{0};                       // the one tensor, rounded up to the allocator's blocks
  std::optional<std::uint64_t> device;  // as the process counts them
  std::optional<Bytes> total;
  std::optional<Bytes> free;
  std::optional<Bytes> own;        // all that this process holds, its context included
  std::optional<Bytes> allocated;  // by tensors
  /// Held by PyTorch and not by tensors: what fragmentation can cost.
  std::optional<Bytes> unallocated;
  std::optional<Bytes> private_pools;  // part of `allocated`: CUDA graphs
  std::optional<Bytes> allowed;        // by torch.cuda.set_per_process_memory_fraction
  struct OtherProcess {
    std::uint64_t pid = 0;  // may be this process itself where it lives in a container
    Bytes bytes{0};
    friend bool operator==(const OtherProcess&, const OtherProcess&) = default;
  };
  std::vector<OtherProcess> others;
  /// The setting against fragmentation that this version knows, as its message names it; empty: the
  /// message names none.
  std::string setting;
  friend bool operator==(const OomMessage&, const OomMessage&) = default;

  /// allocated and unallocated.
  [[nodiscard]] std::optional<Bytes> reserved() const;
};

/// The first such message in the text, which may be broken into lines. Nothing: there is none, or
/// not even what was tried can be read.
[[nodiscard]] std::optional<OomMessage> parse_oom_message(std::string_view text);

}  // namespace berth
