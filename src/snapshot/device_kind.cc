#include "snapshot/device_kind.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/check.h"

namespace berth {

namespace {
constexpr std::array<DeviceKindFacts, 6> kinds = {{
    {DeviceKind::nvidia_gpu, "nvidia-gpu", "NVIDIA", "nvml", Runtime::cuda, "CUDA_VISIBLE_DEVICES",
     "CUDA_DEVICE_ORDER", "PCI_BUS_ID", true},
    {DeviceKind::nvidia_mig, "nvidia-mig", "NVIDIA", "nvml", Runtime::cuda, "CUDA_VISIBLE_DEVICES",
     "CUDA_DEVICE_ORDER", "PCI_BUS_ID", true},
    {DeviceKind::amd_gpu, "amd-gpu", "AMD", "amdgpu", Runtime::rocm, "ROCR_VISIBLE_DEVICES", "", "",
     false},
    {DeviceKind::intel_gpu, "intel-gpu", "Intel", "", Runtime::level_zero, "ZE_AFFINITY_MASK", "",
     "", false},
    {DeviceKind::ascend_npu, "ascend-npu", "Huawei", "", Runtime::cann, "ASCEND_RT_VISIBLE_DEVICES",
     "", "", false},
    {DeviceKind::other, "other", "", "", Runtime::none, "", "", "", false},
}};

// HIP reads CUDA_VISIBLE_DEVICES too; -1 is what the CUDA guide itself recommends for "none", and
// an empty value is dropped by some launchers (mpirun, docker -e).
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> cpu_only = {{
    {"CUDA_VISIBLE_DEVICES", "-1"},
    {"ROCR_VISIBLE_DEVICES", "-1"},
    {"HIP_VISIBLE_DEVICES", "-1"},
    {"ZE_AFFINITY_MASK", "-1"},
    {"ASCEND_RT_VISIBLE_DEVICES", "-1"},
    {"JAX_PLATFORMS", "cpu"},
    {"NVIDIA_VISIBLE_DEVICES", "void"},
}};

// NVIDIA; amdgpu's compute and render nodes, which Intel has too; WSL; Ascend; the kernel's accel
// subsystem (Gaudi).
constexpr std::array<std::string_view, 6> file_beginnings = {
    "/dev/nvidia", "/dev/kfd", "/dev/dri/", "/dev/dxg", "/dev/davinci", "/dev/accel/"};
}  // namespace

const DeviceKindFacts& facts_of(DeviceKind kind) {
  for (const DeviceKindFacts& facts : kinds) {
    if (facts.kind == kind) return facts;
  }
  BERTH_CHECK(false, "every kind of device has a row in the table");
}

bool is_driver(std::string_view source) {
  return std::ranges::any_of(kinds, [&](const DeviceKindFacts& facts) {
    return !source.empty() && facts.source == source;
  });
}

std::optional<DeviceKind> device_kind_from_name(std::string_view name) {
  for (const DeviceKindFacts& facts : kinds) {
    if (facts.name == name) return facts.kind;
  }
  return std::nullopt;
}

std::span<const std::pair<std::string_view, std::string_view>> cpu_only_variables() {
  return cpu_only;
}

std::span<const std::string_view> device_file_beginnings() { return file_beginnings; }

}  // namespace berth
