#pragma once
// The variables that show devices to a program, or say how they are counted: what a process's
// environment tells a probe. Whose each is stands in snapshot/device_kind.cc, which does not
// compile while one is missing here.

#include <array>
#include <string_view>

namespace berth {

inline constexpr auto visible_variables = std::to_array<std::string_view>(
    {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
     "ZE_AFFINITY_MASK", "ZE_FLAT_DEVICE_HIERARCHY", "ASCEND_RT_VISIBLE_DEVICES",
     "MLU_VISIBLE_DEVICES", "MUSA_VISIBLE_DEVICES", "HABANA_VISIBLE_MODULES", "TPU_VISIBLE_CHIPS",
     "TPU_VISIBLE_DEVICES", "TT_VISIBLE_DEVICES"});

}  // namespace berth
