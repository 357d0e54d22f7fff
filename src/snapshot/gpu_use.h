#pragma once
// The words for what a process does on a device, as nvidia-smi writes them: in JSON and on every
// surface, never translated.

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

[[nodiscard]] constexpr std::string_view word_of(GpuUse use) {
  for (const auto& [value, word] : gpu_uses) {
    if (value == use) return word;
  }
  return gpu_uses.front().second;
}

}  // namespace berth
