#pragma once
// The words for what a process does on a device, as nvidia-smi writes them. Internal to the JSON's
// reader and writer.

#include <array>
#include <string_view>
#include <utility>

#include "snapshot/process.h"

namespace berth {

constexpr std::array<std::pair<GpuUse, std::string_view>, 4> gpu_uses = {{
    {GpuUse::compute, "C"},
    {GpuUse::graphics, "G"},
    {GpuUse::both, "C+G"},
    {GpuUse::mps, "M+C"},
}};

}  // namespace berth
