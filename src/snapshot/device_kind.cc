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
    .word = "nvidia",
};

constexpr DeviceKindFacts instance_of_nvidia() {
  DeviceKindFacts facts = nvidia;
  facts.kind = DeviceKind::nvidia_mig;
  facts.name = "nvidia-mig";
  return facts;
}

// HIP reads these behind ROCR_VISIBLE_DEVICES, as numbers of what that has left: what Ray, Slurm
// and vLLM set there would hide a job's devices. GPU_DEVICE_ORDINAL is OpenCL's.
constexpr std::array<std::string_view, 3> renumber_amd = {
    "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"};

// As ROCm's documents of containers say.
constexpr std::array<std::string_view, 1> further_amd = {"/dev/kfd"};

constexpr DeviceKindFacts amd{
    .kind = DeviceKind::amd_gpu,
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
    .is_supported = true,
    .card_file = "/dev/dri/renderD",
    .cdi_kind = "amd.com/gpu",
    .word = "amd",
    .removed_variables = renumber_amd,
    .has_numbered_parts = true,
    .idle_memory = Bytes{std::uint64_t{512} << 20U},  // 284 MiB of an idle MI300X
    .load_may_lie = true,
    .is_given_by_files = true,
    .further_files = further_amd,
};

constexpr DeviceKindFacts partition_of_amd() {
  DeviceKindFacts facts = amd;
  facts.kind = DeviceKind::amd_partition;
  facts.name = "amd-partition";
  return facts;
}

constexpr std::array<std::string_view, 1> renumber_intel = {"ONEAPI_DEVICE_SELECTOR"};

// With FLAT, the default, a number is a tile of a card, with COMPOSITE a card.
constexpr DeviceKindFacts intel{
    .kind = DeviceKind::intel_gpu,
    .name = "intel-gpu",
    .vendor = "Intel",
    .source = "intel",
    .runtime = Runtime::level_zero,
    .runtime_name = "Level Zero",
    .runtime_version = RuntimeVersion::installed,
    .in_kernel = true,
    .driver_file = "",
    .log_advice = as_key("look for \"xe\" and \"i915\" in the kernel log; a device that hangs may "
                         "need a reset or a reboot"),
    .visible_variable = "ZE_AFFINITY_MASK",
    .order_variable = "ZE_FLAT_DEVICE_HIERARCHY",
    .order_value = "COMPOSITE",
    .is_supported = true,
    .card_file = "/dev/dri/renderD",
    .cdi_kind = "intel.com/gpu",
    .word = "intel",
    .removed_variables = renumber_intel,
    .used_is_sum_because = as_key("its driver tells used memory to CAP_PERFMON alone, and what all "
                                  "processes hold can be added up by root"),
    .is_given_by_files = true,
};

// As mind-cluster's container runtime gives them.
constexpr std::array<std::string_view, 3> further_ascend = {"/dev/davinci_manager",
                                                            "/dev/devmm_svm", "/dev/hisi_hdc"};

constexpr DeviceKindFacts ascend{
    .kind = DeviceKind::ascend_npu,
    .name = "ascend-npu",
    .vendor = "Huawei",
    .source = "dcmi",
    .runtime = Runtime::cann,
    .runtime_name = "CANN",
    .runtime_version = RuntimeVersion::installed,
    .in_kernel = false,
    .driver_file = "/dev/davinci_manager",
    .log_advice = as_key("look at npu-smi info and the kernel log; a device that hangs may need a "
                         "reset or a reboot"),
    .visible_variable = "ASCEND_RT_VISIBLE_DEVICES",
    .order_variable = "",
    .order_value = "",
    .is_supported = true,
    .card_file = "/dev/davinci",
    .word = "ascend",
    .idle_memory = Bytes{std::uint64_t{4} << 30U},  // 3.1 to 3.4 GB of an idle 910B
    .list_ascends = true,
    .is_given_by_files = true,
    .further_files = further_ascend,
};

/// A kind of which only presence is known: a row here and one in probe/presence.
constexpr DeviceKindFacts presence(DeviceKind kind, std::string_view name, std::string_view vendor,
                                   std::string_view word, std::string_view variable) {
  return {.kind = kind,
          .name = name,
          .vendor = vendor,
          .source = "device_files",
          .runtime = Runtime::none,
          .runtime_name = "",
          .runtime_version = RuntimeVersion::installed,
          .in_kernel = false,
          .driver_file = "",
          .log_advice = as_key("look for its driver in the kernel log"),
          .visible_variable = variable,
          .order_variable = "",
          .order_value = "",
          .is_supported = true,
          .word = word,
          .may_be_presence = true};
}

/// Read as AMD's where its driver has amdgpu's files.
constexpr DeviceKindFacts hygon() {
  DeviceKindFacts facts =
      presence(DeviceKind::hygon_dcu, "hygon-dcu", "Hygon", "hygon", "ROCR_VISIBLE_DEVICES");
  facts.source = "hycu";
  facts.runtime = Runtime::rocm;
  facts.runtime_name = "ROCm";
  facts.removed_variables = renumber_amd;
  facts.idle_memory = amd.idle_memory;
  return facts;
}

/// Read as NVIDIA's where its library is there.
constexpr DeviceKindFacts iluvatar() {
  DeviceKindFacts facts = presence(DeviceKind::iluvatar_gpu, "iluvatar-gpu", "Iluvatar", "iluvatar",
                                   "CUDA_VISIBLE_DEVICES");
  facts.source = "ixml";
  facts.card_file = "/dev/iluvatar";
  return facts;
}

// libtpu's first name for its list.
constexpr std::array<std::string_view, 1> renumber_tpu = {"TPU_VISIBLE_DEVICES"};

constexpr DeviceKindFacts tpu() {
  DeviceKindFacts facts =
      presence(DeviceKind::google_tpu, "google-tpu", "Google", "tpu", "TPU_VISIBLE_CHIPS");
  facts.removed_variables = renumber_tpu;
  facts.earlier_variable = renumber_tpu.front();
  return facts;
}

constexpr std::array<DeviceKindFacts, 16> kinds = {{
    nvidia,
    instance_of_nvidia(),
    amd,
    partition_of_amd(),
    intel,
    ascend,
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
    hygon(),
    presence(DeviceKind::cambricon_mlu, "cambricon-mlu", "Cambricon", "cambricon",
             "MLU_VISIBLE_DEVICES"),
    presence(DeviceKind::mthreads_gpu, "mthreads-gpu", "Moore Threads", "mthreads",
             "MUSA_VISIBLE_DEVICES"),
    presence(DeviceKind::metax_gpu, "metax-gpu", "MetaX", "metax", "CUDA_VISIBLE_DEVICES"),
    iluvatar(),
    presence(DeviceKind::habana_gaudi, "habana-gaudi", "Habana", "gaudi", "HABANA_VISIBLE_MODULES"),
    tpu(),
    presence(DeviceKind::tenstorrent, "tenstorrent", "Tenstorrent", "tenstorrent",
             "TT_VISIBLE_DEVICES"),
    // Its variable counts cores, and how many a device has is not read: no job is given one.
    presence(DeviceKind::aws_neuron, "aws-neuron", "AWS", "neuron", ""),
}};

// HIP reads CUDA_VISIBLE_DEVICES too; -1 is what the CUDA guide itself recommends for "none", and
// an empty value is dropped by some launchers (mpirun, docker -e).
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> cpu_only = {{
    {"CUDA_VISIBLE_DEVICES", "-1"},
    {"ROCR_VISIBLE_DEVICES", "-1"},
    {"HIP_VISIBLE_DEVICES", "-1"},
    {"ZE_AFFINITY_MASK", "-1"},
    {"ASCEND_RT_VISIBLE_DEVICES", "-1"},
    {"MLU_VISIBLE_DEVICES", "-1"},
    {"MUSA_VISIBLE_DEVICES", "-1"},
    {"JAX_PLATFORMS", "cpu"},
    {"NVIDIA_VISIBLE_DEVICES", "void"},
}};

// NVIDIA; amdgpu's compute and render nodes, which Intel and others have too; Hygon; WSL; Ascend;
// the kernel's accel subsystem (Gaudi) and TPUs, the newer of which are in VFIO; Cambricon; Moore
// Threads; MetaX; Iluvatar; Tenstorrent; Neuron.
constexpr std::array<std::string_view, 16> file_beginnings = {
    "/dev/nvidia",   "/dev/kfd",       "/dev/mkfd",         "/dev/dri/",
    "/dev/dxg",      "/dev/davinci",   "/dev/vdavinci",     "/dev/accel",
    "/dev/vfio/",    "/dev/cambricon", "/dev/mtgpu",        "/dev/mxcd",
    "/dev/iluvatar", "/dev/itrctl",    "/dev/tenstorrent/", "/dev/neuron"};
}  // namespace

std::span<const DeviceKindFacts> device_kinds() { return kinds; }

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

std::vector<std::string_view> kind_words() {
  std::vector<std::string_view> words;
  for (const DeviceKindFacts& facts : kinds) {
    const bool is_new = std::ranges::find(words, facts.word) == words.end();
    if (!facts.word.empty() && is_new) words.push_back(facts.word);
  }
  return words;
}

std::optional<Runtime> runtime_of_vendor(std::string_view vendor) {
  for (const DeviceKindFacts& facts : kinds) {
    if (!vendor.empty() && facts.vendor == vendor) return facts.runtime;
  }
  return std::nullopt;
}

std::string_view used_is_hidden_because(const Device& device) {
  const bool is_hidden = !device.integrated && !device.memory_used.get() &&
                         device.memory_used.why() == Absent::no_permission;
  return is_hidden ? facts_of(device.kind).used_is_sum_because : std::string_view();
}

std::optional<std::vector<std::string>> files_for_container(
    const std::vector<const Device*>& devices) {
  std::vector<std::string> files;
  const auto add = [&](std::string file) {
    if (std::ranges::find(files, file) == files.end()) files.push_back(std::move(file));
  };
  for (const Device* device : devices) {
    const DeviceKindFacts& facts = facts_of(device->kind);
    const auto& minor = device->minor_number.get();
    if (!facts.is_given_by_files || !minor) return std::nullopt;
    for (const std::string_view file : facts.further_files) add(std::string(file));
    add(std::string(facts.card_file) + std::to_string(*minor));
  }
  return files;
}

std::span<const std::pair<std::string_view, std::string_view>> cpu_only_variables() {
  return cpu_only;
}

std::span<const std::string_view> device_file_beginnings() { return file_beginnings; }

}  // namespace berth
