#pragma once
// Which devices CUDA itself numbers, and how. libcuda is asked in a process of its own, which it
// may hang or crash. No context is made and nothing runs on a device.

#include <string>
#include <string_view>

#include "base/clock.h"
#include "host_environment/host_facts.h"

namespace berth {

/// `library` is what the loader looks for, "libcuda.so.1". The child has this process's
/// CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER.
[[nodiscard]] CudaAnswer ask_cuda(const std::string& library, Clock& clock, Duration patience);

/// What that child printed: "device<TAB>UUID<TAB>name" in CUDA's order, or
/// "error<TAB>call<TAB>code".
[[nodiscard]] CudaAnswer parse_cuda_answer(std::string_view text);

}  // namespace berth
