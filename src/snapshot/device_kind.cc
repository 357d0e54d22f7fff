#include "snapshot/device_kind.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/check.h"
#include "base/tr.h"

namespace berth {

namespace {
constexpr DeviceKindFacts nvidia{
    .kind = DeviceKind::nvidia_gpu,
    .name = "nvidia-gpu",
    .vendor = "NVIDIA",
    .source = "nvml",
    .runtime = Runtime::cuda,
    .runtime_name = "CUDA",
    .runtime_version = RuntimeVersion::supported,
    .in_kernel = false,
    .driver_file = "/dev/nvidiactl",
    .log_advice = as_key("look for \"NVRM\" and \"Xid\" in the kernel log; a device that hangs may "
                         "need a reset or a reboot"),
    .visible_variable = "CUDA_VISIBLE_DEVICES",
    .order_variable = "CUDA_DEVICE_ORDER",
    .order_value = "PCI_BUS_ID",
    .is_supported = true,
    .card_file = "/dev/nvidia",
    .cdi_kind = "nvidia.com/gpu",
};

constexpr DeviceKindFacts instance_of_nvidia() {
  DeviceKindFacts facts = nvidia;
  facts.kind = DeviceKind::nvidia_mig;
  facts.name = "nvidia-mig";
  return facts;
}

constexpr std::array<DeviceKindFacts, 6> kinds = {{
    nvidia,
    instance_of_nvidia(),
    {.kind = DeviceKind::amd_gpu,
     .name = "amd-gpu",
     .vendor = "AMD",
     .source = "amdgpu",
     .runtime = Runtime::rocm,
     .runtime_name = "ROCm",
     .runtime_version = RuntimeVersion::installed,
     .in_kernel = true,
     .driver_file = "",
     .log_advice = as_key("look for \"amdgpu\" in the kernel log; a device that hangs may need a "
                          "reset or a reboot"),
     .visible_variable = "ROCR_VISIBLE_DEVICES",
     .order_variable = "",
     .order_value = "",
     .is_supported = false,
     .card_file = "/dev/dri/renderD",
     .cdi_kind = "amd.com/gpu"},
    {.kind = DeviceKind::intel_gpu,
     .name = "intel-gpu",
     .vendor = "Intel",
     .source = "",
     .runtime = Runtime::level_zero,
     .runtime_name = "Level Zero",
     .runtime_version = RuntimeVersion::installed,
     .in_kernel = true,
     .driver_file = "",
     .log_advice = "",
     .visible_variable = "ZE_AFFINITY_MASK",
     .order_variable = "",
     .order_value = "",
     .is_supported = false},
    {.kind = DeviceKind::ascend_npu,
     .name = "ascend-npu",
     .vendor = "Huawei",
     .source = "",
     .runtime = Runtime::cann,
     .runtime_name = "CANN",
     .runtime_version = RuntimeVersion::installed,
     .in_kernel = false,
     .driver_file = "",
     .log_advice = "",
     .visible_variable = "ASCEND_RT_VISIBLE_DEVICES",
     .order_variable = "",
     .order_value = "",
     .is_supported = false},
    {.kind = DeviceKind::other,
     .name = "other",
     .vendor = "",
     .source = "",
     .runtime = Runtime::none,
     .runtime_name = "",
     .runtime_version = RuntimeVersion::installed,
     .in_kernel = false,
     .driver_file = "",
     .log_advice = "",
     .visible_variable = "",
     .order_variable = "",
     .order_value = "",
     .is_supported = false},
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

const DeviceKindFacts& facts_of(Runtime runtime) {
  for (const DeviceKindFacts& facts : kinds) {
    if (facts.runtime == runtime) return facts;
  }
  BERTH_CHECK(false, "every runtime has a row in the table");
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

std::optional<Runtime> runtime_of_vendor(std::string_view vendor) {
  for (const DeviceKindFacts& facts : kinds) {
    if (!vendor.empty() && facts.vendor == vendor) return facts.runtime;
  }
  return std::nullopt;
}

std::span<const std::pair<std::string_view, std::string_view>> cpu_only_variables() {
  return cpu_only;
}

std::span<const std::string_view> device_file_beginnings() { return file_beginnings; }

}  // namespace berth
