#pragma once
// The kinds of devices, a row each (DeviceKindFacts). Ask by device_kind.h. This is for its .cc and
// for who wants what follows from all rows (the end of this file): libberth has no code of it.

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "base/tr.h"
#include "snapshot/device_kind.h"

namespace berth {

namespace kind_rows {
using Name = std::string_view;
using Setting = std::pair<std::string_view, std::string_view>;

inline constexpr std::array<Name, 2> files_nvidia = {"/dev/nvidia", "/dev/dxg"};  // that is WSL's
// -1 is what the CUDA guide itself recommends for "none"; an empty value is dropped by some
// launchers (mpirun, docker -e).
inline constexpr std::array<Setting, 2> hiding_nvidia = {
    {{"CUDA_VISIBLE_DEVICES", "-1"}, {"NVIDIA_VISIBLE_DEVICES", "void"}}};

// Of a card, and of a MIG instance.
inline constexpr std::array<Name, 2> numbered_nvidia = {"/dev/nvidia",
                                                        "/dev/nvidia-caps/nvidia-cap"};
inline constexpr std::array<Name, 2> further_nvidia = {"/dev/nvidiactl", "/dev/nvidia-uvm"};
inline constexpr std::array<Name, 5> classes_nvidia = {"nvidia", "nvidia-caps", "nvidia-uvm",
                                                       "nvidia-frontend", "nvidiactl"};

inline constexpr std::array<Name, 2> log_nvidia = {"NVRM", "nvidia"};
inline constexpr std::array<Name, 5> variables_nvidia = {"CUDA_", "NVIDIA_", "NCCL_", "CUBLAS_",
                                                         "CUDNN_"};

inline constexpr DeviceKindFacts nvidia{
    .kind = DeviceKind::nvidia_gpu,
    .name = "nvidia-gpu",
    .vendor = "NVIDIA",
    .source = "nvml",
    .runtime = Runtime::cuda,
    .runtime_name = "CUDA",
    .runtime_version = RuntimeVersion::supported,
    .driver_file = "/dev/nvidiactl",
    .log_advice = as_key("look for \"NVRM\" and \"Xid\" in the kernel log; a device that hangs may "
                         "need a reset or a reboot"),
    .log_words = log_nvidia,
    .reset_command = "sudo nvidia-smi -r",
    .visible_variable = "CUDA_VISIBLE_DEVICES",
    .order_variable = "CUDA_DEVICE_ORDER",
    .order_value = "PCI_BUS_ID",
    .file_beginnings = files_nvidia,
    .hiding = hiding_nvidia,
    .list_syntax = ListSyntax::cuda,
    .card_file = "/dev/nvidia",
    .numbered_files = numbered_nvidia,
    .cdi_kind = "nvidia.com/gpu",
    .toolkit_variable = "NVIDIA_VISIBLE_DEVICES",
    .word = "nvidia",
    .torch = {.device_type = "cuda", .library = "/libtorch_cuda"},
    .variable_beginnings = variables_nvidia,
    .has_capability = true,
    .further_files = further_nvidia,
    .file_maker = "nvidia-modprobe -u -c=",
    .part_table = "/proc/driver/nvidia-caps/mig-minors",
    .part_file = "/dev/nvidia-caps/nvidia-cap",
    .file_major = "195",
    .file_classes = classes_nvidia,
    .driver_service = "nvidia-persistenced.service",
};

constexpr DeviceKindFacts instance_of_nvidia() {
  DeviceKindFacts facts = nvidia;
  facts.kind = DeviceKind::nvidia_mig;
  facts.name = "nvidia-mig";
  return facts;
}

// HIP reads these behind ROCR_VISIBLE_DEVICES, as numbers of what that has left: what Ray, Slurm
// and vLLM set there would hide a job's devices. GPU_DEVICE_ORDINAL is OpenCL's.
inline constexpr std::array<std::string_view, 3> renumber_amd = {
    "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"};

inline constexpr std::array<Name, 3> numbered_of_drm = {"/dev/dri/card", "/dev/dri/renderD",
                                                        "/dev/dri/controlD"};
inline constexpr std::string_view major_of_drm = "226";

// As ROCm's documents of containers say.
inline constexpr std::array<std::string_view, 1> further_amd = {"/dev/kfd"};

inline constexpr std::array<Name, 2> files_amd = {"/dev/kfd", "/dev/dri/"};
// HIP reads CUDA's variable too.
inline constexpr std::array<Setting, 3> hiding_amd = {{{"ROCR_VISIBLE_DEVICES", "-1"},
                                                       {"HIP_VISIBLE_DEVICES", "-1"},
                                                       {"CUDA_VISIBLE_DEVICES", "-1"}}};

inline constexpr std::array<Name, 2> log_amd = {"amdgpu", "kfd"};
inline constexpr auto variables_amd = std::to_array<Name>(
    {"ROCR_", "HIP_", "HSA_", "AMD_", "ROCM_", "MIOPEN_", "ROCBLAS_", "HIPBLASLT_", "RCCL_",
     "TENSILE_", "GPU_MAX_HW_QUEUES=", "GPU_DEVICE_ORDINAL="});

inline constexpr DeviceKindFacts amd{
    .kind = DeviceKind::amd_gpu,
    .name = "amd-gpu",
    .vendor = "AMD",
    .source = "amdgpu",
    .runtime = Runtime::rocm,
    .runtime_name = "ROCm",
    .in_kernel = true,
    .log_advice = as_key("look for \"amdgpu\" in the kernel log; a device that hangs may need a "
                         "reset or a reboot"),
    .log_words = log_amd,
    .visible_variable = "ROCR_VISIBLE_DEVICES",
    .file_beginnings = files_amd,
    .hiding = hiding_amd,
    .list_syntax = ListSyntax::rocr,
    .card_file = "/dev/dri/renderD",
    .numbered_files = numbered_of_drm,
    .cdi_kind = "amd.com/gpu",
    .toolkit_variable = "AMD_VISIBLE_DEVICES",
    .word = "amd",
    .torch = {.device_type = "cuda",
              .build_mark = "+rocm",
              .how_to_get =
                  as_key("install PyTorch's build for ROCm (its version ends in +rocm and "
                         "a number)"),
              .library = "/libtorch_hip"},
    .second_variable = "HIP_VISIBLE_DEVICES",
    .removed_variables = renumber_amd,
    .variable_beginnings = variables_amd,
    .has_numbered_parts = true,
    .idle_memory = Bytes{std::uint64_t{512} << 20U},  // 284 MiB of an idle MI300X
    .load_may_lie = true,
    .further_files = further_amd,
    .is_given_by_files = true,
    .file_major = major_of_drm,
    .name_in_pci_ids = "Advanced Micro Devices, Inc. [AMD/ATI]",
};

constexpr DeviceKindFacts partition_of_amd() {
  DeviceKindFacts facts = amd;
  facts.kind = DeviceKind::amd_partition;
  facts.name = "amd-partition";
  return facts;
}

inline constexpr std::array<std::string_view, 1> renumber_intel = {"ONEAPI_DEVICE_SELECTOR"};

inline constexpr std::array<Name, 1> files_of_drm = {"/dev/dri/"};
inline constexpr std::array<Setting, 1> hiding_intel = {{{"ZE_AFFINITY_MASK", "-1"}}};

inline constexpr std::array<Name, 2> log_intel = {"i915", "\\bxe\\b"};
inline constexpr std::array<Name, 6> variables_intel = {"ZE_",  "ONEAPI_", "SYCL_",
                                                        "CCL_", "UR_",     "IPEX_"};

// With FLAT, the default, a number is a tile of a card, with COMPOSITE a card.
inline constexpr DeviceKindFacts intel{
    .kind = DeviceKind::intel_gpu,
    .name = "intel-gpu",
    .vendor = "Intel",
    .source = "intel",
    .runtime = Runtime::level_zero,
    .runtime_name = "Level Zero",
    .in_kernel = true,
    .log_advice = as_key("look for \"xe\" and \"i915\" in the kernel log; a device that hangs may "
                         "need a reset or a reboot"),
    .log_words = log_intel,
    .visible_variable = "ZE_AFFINITY_MASK",
    .order_variable = "ZE_FLAT_DEVICE_HIERARCHY",
    .order_value = "COMPOSITE",
    .file_beginnings = files_of_drm,
    .hiding = hiding_intel,
    .list_syntax = ListSyntax::level_zero,
    .card_file = "/dev/dri/renderD",
    .numbered_files = numbered_of_drm,
    .cdi_kind = "intel.com/gpu",
    .word = "intel",
    .torch = {.device_type = "xpu",
              .build_mark = "+xpu",
              .package = "intel_extension_for_pytorch",
              .how_to_get = as_key("install PyTorch's build for XPU (its version ends in +xpu)"),
              .library = "/libtorch_xpu"},
    .removed_variables = renumber_intel,
    .variable_beginnings = variables_intel,
    .used_is_sum_because = as_key("its driver tells used memory to CAP_PERFMON alone, and what all "
                                  "processes hold can be added up by root"),
    .is_given_by_files = true,
    .file_major = major_of_drm,
    .name_in_pci_ids = "Intel Corporation",
};

// As mind-cluster's container runtime gives them.
inline constexpr std::array<std::string_view, 3> further_ascend = {
    "/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc"};

inline constexpr std::array<Name, 2> files_ascend = {"/dev/davinci", "/dev/vdavinci"};
inline constexpr std::array<Setting, 1> hiding_ascend = {{{"ASCEND_RT_VISIBLE_DEVICES", "-1"}}};

inline constexpr std::array<Name, 2> log_ascend = {"davinci", "ascend"};
inline constexpr std::array<Name, 1> numbered_ascend = {"/dev/davinci"};

// Behind CANN's and HCCL's, torch_npu's own.
inline constexpr auto variables_ascend =
    std::to_array<Name>({"ASCEND_", "HCCL_", "ACL_", "TASK_QUEUE_ENABLE=", "CPU_AFFINITY_CONF=",
                         "COMBINED_ENABLE=", "INF_NAN_MODE_ENABLE=", "MULTI_STREAM_MEMORY_REUSE="});

inline constexpr DeviceKindFacts ascend{
    .kind = DeviceKind::ascend_npu,
    .name = "ascend-npu",
    .vendor = "Huawei",
    .source = "dcmi",
    .runtime = Runtime::cann,
    .runtime_name = "CANN",
    .driver_file = "/dev/davinci_manager",
    .log_advice = as_key("look at npu-smi info and the kernel log; a device that hangs may need a "
                         "reset or a reboot"),
    .log_words = log_ascend,
    .visible_variable = "ASCEND_RT_VISIBLE_DEVICES",
    .file_beginnings = files_ascend,
    .hiding = hiding_ascend,
    .list_syntax = ListSyntax::ascending,
    .card_file = "/dev/davinci",
    .numbered_files = numbered_ascend,
    .toolkit_variable = "ASCEND_VISIBLE_DEVICES",
    .word = "ascend",
    .torch = {.device_type = "npu",
              .package = "torch_npu",
              .how_to_get = as_key("install torch_npu of the same version as torch"),
              .library = "/libtorch_npu"},
    .variable_beginnings = variables_ascend,
    .idle_memory = Bytes{std::uint64_t{4} << 30U},  // 3.1 to 3.4 GB of an idle 910B
    .further_files = further_ascend,
    .is_given_by_files = true,
    .name_in_pci_ids = "Huawei Technologies Co., Ltd.",
};

/// A kind of which only presence is known: a row here and one in probe/presence. What hides all of
/// them is not known, unless it is said.
constexpr DeviceKindFacts presence(DeviceKind kind, std::string_view name, std::string_view vendor,
                                   std::string_view word, std::string_view variable,
                                   std::span<const Name> file_beginnings,
                                   std::span<const Name> numbered_files,
                                   std::span<const Setting> hiding = {}) {
  return {.kind = kind,
          .name = name,
          .vendor = vendor,
          .source = "device_files",
          .log_advice = as_key("look for its driver in the kernel log"),
          .visible_variable = variable,
          .file_beginnings = file_beginnings,
          .hiding = hiding,
          .numbered_files = numbered_files,
          .word = word,
          .may_be_presence = true};
}

inline constexpr std::array<Name, 3> log_hygon = {"hycu", "hydcu", "kfd"};
inline constexpr std::array<Name, 3> files_hygon = {"/dev/kfd", "/dev/mkfd", "/dev/dri/"};
inline constexpr std::array<Name, 1> files_cambricon = {"/dev/cambricon"};
inline constexpr std::array<Name, 1> numbered_cambricon = {"/dev/cambricon_dev"};
inline constexpr std::array<Setting, 1> hiding_cambricon = {{{"MLU_VISIBLE_DEVICES", "-1"}}};
inline constexpr std::array<Name, 2> files_mthreads = {"/dev/mtgpu", "/dev/dri/"};
inline constexpr std::array<Setting, 1> hiding_mthreads = {{{"MUSA_VISIBLE_DEVICES", "-1"}}};
inline constexpr std::array<Name, 2> files_metax = {"/dev/mxcd", "/dev/dri/"};
inline constexpr std::array<Name, 2> files_iluvatar = {"/dev/iluvatar", "/dev/itrctl"};
inline constexpr std::array<Name, 1> numbered_iluvatar = {"/dev/iluvatar"};
inline constexpr std::array<Name, 1> further_iluvatar = {"/dev/itrctl"};
inline constexpr std::array<Setting, 1> hiding_like_cudas = {{{"CUDA_VISIBLE_DEVICES", "-1"}}};
inline constexpr std::array<Name, 1> files_gaudi = {"/dev/accel"};
inline constexpr std::array<Name, 1> numbered_gaudi = {"/dev/accel/accel"};
inline constexpr std::array<Name, 2> files_tpu = {"/dev/accel",
                                                  "/dev/vfio/"};  // the newer ones' are there
inline constexpr std::array<Name, 1> files_tenstorrent = {"/dev/tenstorrent/"};
inline constexpr std::array<Name, 1> files_neuron = {"/dev/neuron"};

/// Read as AMD's where its driver has amdgpu's files.
constexpr DeviceKindFacts hygon() {
  DeviceKindFacts facts =
      presence(DeviceKind::hygon_dcu, "hygon-dcu", "Hygon", "hygon", "ROCR_VISIBLE_DEVICES",
               files_hygon, numbered_of_drm, hiding_amd);
  facts.source = "hycu";
  facts.log_words = log_hygon;
  facts.runtime = Runtime::rocm;
  facts.runtime_name = "ROCm";
  facts.list_syntax = amd.list_syntax;
  facts.torch = amd.torch;
  facts.second_variable = amd.second_variable;
  facts.removed_variables = renumber_amd;
  facts.variable_beginnings = amd.variable_beginnings;
  facts.idle_memory = amd.idle_memory;
  return facts;
}

/// Read as NVIDIA's where its library is there.
constexpr DeviceKindFacts iluvatar() {
  DeviceKindFacts facts =
      presence(DeviceKind::iluvatar_gpu, "iluvatar-gpu", "Iluvatar", "iluvatar",
               "CUDA_VISIBLE_DEVICES", files_iluvatar, numbered_iluvatar, hiding_like_cudas);
  facts.source = "ixml";
  facts.card_file = numbered_iluvatar.front();
  facts.further_files = further_iluvatar;
  return facts;
}

// libtpu's first name for its list.
inline constexpr std::array<std::string_view, 1> renumber_tpu = {"TPU_VISIBLE_DEVICES"};

constexpr DeviceKindFacts tpu() {
  DeviceKindFacts facts = presence(DeviceKind::google_tpu, "google-tpu", "Google", "tpu",
                                   "TPU_VISIBLE_CHIPS", files_tpu, files_gaudi);
  facts.removed_variables = renumber_tpu;
  facts.earlier_variable = renumber_tpu.front();
  return facts;
}

inline constexpr auto all = std::to_array<DeviceKindFacts>({
    nvidia,
    instance_of_nvidia(),
    amd,
    partition_of_amd(),
    intel,
    ascend,
    {.kind = DeviceKind::other, .name = "other", .vendor = "", .source = "", .is_supported = false},
    hygon(),
    presence(DeviceKind::cambricon_mlu, "cambricon-mlu", "Cambricon", "cambricon",
             "MLU_VISIBLE_DEVICES", files_cambricon, numbered_cambricon, hiding_cambricon),
    presence(DeviceKind::mthreads_gpu, "mthreads-gpu", "Moore Threads", "mthreads",
             "MUSA_VISIBLE_DEVICES", files_mthreads, numbered_of_drm, hiding_mthreads),
    presence(DeviceKind::metax_gpu, "metax-gpu", "MetaX", "metax", "CUDA_VISIBLE_DEVICES",
             files_metax, numbered_of_drm, hiding_like_cudas),
    iluvatar(),
    presence(DeviceKind::habana_gaudi, "habana-gaudi", "Habana", "gaudi", "HABANA_VISIBLE_MODULES",
             files_gaudi, numbered_gaudi),
    tpu(),
    presence(DeviceKind::tenstorrent, "tenstorrent", "Tenstorrent", "tenstorrent",
             "TT_VISIBLE_DEVICES", files_tenstorrent, files_tenstorrent),
    // Its variable counts cores, and how many a device has is not read: no job is given one.
    presence(DeviceKind::aws_neuron, "aws-neuron", "AWS", "neuron", "", files_neuron, files_neuron),
});

// --- what follows from all rows -----------------------------------------------------------------

template <class Entry>
struct Distinct {
  static constexpr std::size_t most = 64;
  std::array<Entry, most> entries{};
  std::size_t count = 0;

  constexpr void add(const Entry& entry) {
    const auto end = entries.begin() + count;
    if (std::find(entries.begin(), end, entry) == end) entries[count++] = entry;
  }
};

/// The union of one list of all kinds.
template <auto List>
constexpr auto all_of_kinds() {
  using Entry =
      typename std::remove_cvref_t<decltype(std::declval<DeviceKindFacts>().*List)>::value_type;
  Distinct<Entry> found;
  for (const DeviceKindFacts& facts : all) {
    for (const Entry& entry : facts.*List) found.add(entry);
  }
  return found;
}
inline constexpr auto hiding = all_of_kinds<&DeviceKindFacts::hiding>();
inline constexpr auto variable_beginnings = all_of_kinds<&DeviceKindFacts::variable_beginnings>();

inline constexpr auto choosing = [] {
  Distinct<Name> found;
  for (const DeviceKindFacts& facts : all) {
    for (const Name name :
         {facts.visible_variable, facts.second_variable, facts.earlier_variable}) {
      if (!name.empty()) found.add(name);
    }
    for (const Name name : facts.removed_variables) found.add(name);
  }
  return found;
}();

inline constexpr auto variables = [] {
  Distinct<Name> found;
  for (const DeviceKindFacts& facts : all) {
    for (const Name name : {facts.visible_variable, facts.order_variable, facts.second_variable,
                            facts.earlier_variable}) {
      if (!name.empty()) found.add(name);
    }
  }
  return found;
}();
}  // namespace kind_rows

/// The variables that show devices to a program, or say how they are counted: what a process's
/// environment tells a probe.
inline constexpr auto told_variables = [] {
  std::array<std::string_view, kind_rows::variables.count> names;
  std::copy_n(kind_rows::variables.entries.begin(), names.size(), names.begin());
  return names;
}();

/// Of all makers' runtimes and libraries (DeviceKindFacts::variable_beginnings).
inline constexpr auto variable_beginnings =
    std::span(kind_rows::variable_beginnings.entries).first<kind_rows::variable_beginnings.count>();

/// {variable, value}: what keeps a program off the devices of all kinds.
inline constexpr auto cpu_only_variables = [] {
  std::array<kind_rows::Setting, kind_rows::hiding.count + 1> settings{};
  std::copy_n(kind_rows::hiding.entries.begin(), kind_rows::hiding.count, settings.begin());
  settings.back() = {"JAX_PLATFORMS", "cpu"};  // it takes a TPU, or complains, all the same
  return settings;
}();

}  // namespace berth
