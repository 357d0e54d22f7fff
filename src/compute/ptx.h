#pragma once
// The kernels' bodies for CUDA devices, in PTX 6.0 for compute capability 5.0: any driver since
// CUDA 9 compiles them for the card that it finds, the newest included, so that no toolkit is
// needed.

#include <string>

namespace berth::compute {

[[nodiscard]] std::string fill_ptx();
[[nodiscard]] std::string multiply_ptx();

}  // namespace berth::compute
