#include "snapshot/device_kind.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/check.h"
#include "base/tr.h"
#include "base/visible_variables.h"

namespace berth {

namespace {
using Name = std::string_view;
using Setting = std::pair<std::string_view, std::string_view>;

constexpr std::array<Name, 2> files_nvidia = {"/dev/nvidia", "/dev/dxg"};  // that is WSL's
// The CUDA guide itself recommends -1 for "none". Some launchers drop an empty value (mpirun,
// docker -e).
constexpr std::array<Setting, 2> hiding_nvidia = {
    {{"CUDA_VISIBLE_DEVICES", "-1"}, {"NVIDIA_VISIBLE_DEVICES", "void"}}};

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
    .file_beginnings = files_nvidia,
    .hiding = hiding_nvidia,
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

// HIP reads these after ROCR_VISIBLE_DEVICES, and numbers the remaining devices. Values that Ray,
// Slurm and vLLM set there would hide a job's devices. GPU_DEVICE_ORDINAL is OpenCL's.
constexpr std::array<std::string_view, 3> renumber_amd = {
    "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"};

// As ROCm's documents of containers say.
constexpr std::array<std::string_view, 1> further_amd = {"/dev/kfd"};

constexpr std::array<Name, 2> files_amd = {"/dev/kfd", "/dev/dri/"};
// HIP reads CUDA's variable too.
constexpr std::array<Setting, 3> hiding_amd = {{{"ROCR_VISIBLE_DEVICES", "-1"},
                                                {"HIP_VISIBLE_DEVICES", "-1"},
                                                {"CUDA_VISIBLE_DEVICES", "-1"}}};

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
    .file_beginnings = files_amd,
    .hiding = hiding_amd,
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

constexpr std::array<Name, 1> files_of_drm = {"/dev/dri/"};
constexpr std::array<Setting, 1> hiding_intel = {{{"ZE_AFFINITY_MASK", "-1"}}};

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
    .file_beginnings = files_of_drm,
    .hiding = hiding_intel,
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

constexpr std::array<Name, 2> files_ascend = {"/dev/davinci", "/dev/vdavinci"};
constexpr std::array<Setting, 1> hiding_ascend = {{{"ASCEND_RT_VISIBLE_DEVICES", "-1"}}};

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
    .file_beginnings = files_ascend,
    .hiding = hiding_ascend,
    .card_file = "/dev/davinci",
    .word = "ascend",
    .idle_memory = Bytes{std::uint64_t{4} << 30U},  // 3.1 to 3.4 GB of an idle 910B
    .list_ascends = true,
    .is_given_by_files = true,
    .further_files = further_ascend,
};

/// A kind that is only known by presence: a row here and one in probe/presence. Unless its row says
/// it, nothing is known to hide all of them.
constexpr DeviceKindFacts presence(DeviceKind kind, std::string_view name, std::string_view vendor,
                                   std::string_view word, std::string_view variable,
                                   std::span<const Name> file_beginnings,
                                   std::span<const Setting> hiding = {}) {
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
          .file_beginnings = file_beginnings,
          .hiding = hiding,
          .word = word,
          .may_be_presence = true};
}

constexpr std::array<Name, 3> files_hygon = {"/dev/kfd", "/dev/mkfd", "/dev/dri/"};
constexpr std::array<Name, 1> files_cambricon = {"/dev/cambricon"};
constexpr std::array<Setting, 1> hiding_cambricon = {{{"MLU_VISIBLE_DEVICES", "-1"}}};
constexpr std::array<Name, 2> files_mthreads = {"/dev/mtgpu", "/dev/dri/"};
constexpr std::array<Setting, 1> hiding_mthreads = {{{"MUSA_VISIBLE_DEVICES", "-1"}}};
constexpr std::array<Name, 2> files_metax = {"/dev/mxcd", "/dev/dri/"};
constexpr std::array<Name, 2> files_iluvatar = {"/dev/iluvatar", "/dev/itrctl"};
constexpr std::array<Setting, 1> hiding_like_cudas = {{{"CUDA_VISIBLE_DEVICES", "-1"}}};
constexpr std::array<Name, 1> files_gaudi = {"/dev/accel"};
constexpr std::array<Name, 2> files_tpu = {"/dev/accel",
                                           "/dev/vfio/"};  // the newer ones' are there
constexpr std::array<Name, 1> files_tenstorrent = {"/dev/tenstorrent/"};
constexpr std::array<Name, 1> files_neuron = {"/dev/neuron"};

/// Read as AMD's where its driver has amdgpu's files.
constexpr DeviceKindFacts hygon() {
  DeviceKindFacts facts = presence(DeviceKind::hygon_dcu, "hygon-dcu", "Hygon", "hygon",
                                   "ROCR_VISIBLE_DEVICES", files_hygon, hiding_amd);
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
                                   "CUDA_VISIBLE_DEVICES", files_iluvatar, hiding_like_cudas);
  facts.source = "ixml";
  facts.card_file = "/dev/iluvatar";
  return facts;
}

// libtpu's first name for its list.
constexpr std::array<std::string_view, 1> renumber_tpu = {"TPU_VISIBLE_DEVICES"};

constexpr DeviceKindFacts tpu() {
  DeviceKindFacts facts = presence(DeviceKind::google_tpu, "google-tpu", "Google", "tpu",
                                   "TPU_VISIBLE_CHIPS", files_tpu);
  facts.removed_variables = renumber_tpu;
  facts.earlier_variable = renumber_tpu.front();
  return facts;
}

constexpr auto kinds = std::to_array<DeviceKindFacts>({
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
             "MLU_VISIBLE_DEVICES", files_cambricon, hiding_cambricon),
    presence(DeviceKind::mthreads_gpu, "mthreads-gpu", "Moore Threads", "mthreads",
             "MUSA_VISIBLE_DEVICES", files_mthreads, hiding_mthreads),
    presence(DeviceKind::metax_gpu, "metax-gpu", "MetaX", "metax", "CUDA_VISIBLE_DEVICES",
             files_metax, hiding_like_cudas),
    iluvatar(),
    presence(DeviceKind::habana_gaudi, "habana-gaudi", "Habana", "gaudi", "HABANA_VISIBLE_MODULES",
             files_gaudi),
    tpu(),
    presence(DeviceKind::tenstorrent, "tenstorrent", "Tenstorrent", "tenstorrent",
             "TT_VISIBLE_DEVICES", files_tenstorrent),
    // Its variable counts cores, and how many a device has is not read: no job is given one.
    presence(DeviceKind::aws_neuron, "aws-neuron", "AWS", "neuron", "", files_neuron),
});

// --- what the table has to have, so that the compiler names what a new kind lacks ----------------

constexpr bool has_one_row(DeviceKind kind) {
  return std::ranges::count(kinds, kind, &DeviceKindFacts::kind) == 1;
}
constexpr bool each_kind_has_one_row() {
  for (int kind = 0; kind <= static_cast<int>(DeviceKind::other); ++kind) {
    if (!has_one_row(static_cast<DeviceKind>(kind))) return false;
  }
  return kinds.size() == static_cast<std::size_t>(DeviceKind::other) + 1;
}
static_assert(each_kind_has_one_row());

/// Else a process on it would be nobody, and `--cpu` would leave it visible to a job. That nobody
/// knows how its maker hides all is said by `may_be_presence`.
constexpr bool is_complete(const DeviceKindFacts& facts) {
  const bool is_seen = !facts.file_beginnings.empty() && !facts.source.empty();
  const bool is_hidden = !facts.hiding.empty() || facts.may_be_presence;
  return !facts.is_supported || (is_seen && is_hidden);
}
static_assert(std::ranges::all_of(kinds, is_complete));

constexpr bool is_told(Name variable) {
  return variable.empty() ||
         std::ranges::find(visible_variables, variable) != visible_variables.end();
}
static_assert(std::ranges::all_of(kinds,
                                  [](const DeviceKindFacts& facts) {
                                    return is_told(facts.visible_variable) &&
                                           is_told(facts.order_variable) &&
                                           is_told(facts.earlier_variable);
                                  }),
              "base/visible_variables.h has each");

/// The union of one list of all kinds.
template <auto List>
constexpr auto all_of_kinds() {
  using Entry =
      typename std::remove_cvref_t<decltype(std::declval<DeviceKindFacts>().*List)>::value_type;
  constexpr std::size_t enough = 64;
  std::array<Entry, enough> all{};
  std::size_t count = 0;
  for (const DeviceKindFacts& facts : kinds) {
    for (const Entry& entry : facts.*List) {
      const auto end = all.begin() + count;
      if (std::find(all.begin(), end, entry) == end) all[count++] = entry;
    }
  }
  return std::pair(all, count);
}
constexpr auto file_beginnings = all_of_kinds<&DeviceKindFacts::file_beginnings>();
constexpr auto hiding = all_of_kinds<&DeviceKindFacts::hiding>();
// JAX takes a TPU, or complains, all the same.
constexpr Setting framework_without_devices = {"JAX_PLATFORMS", "cpu"};
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
  static constexpr auto all = [] {
    std::array<Setting, hiding.second + 1> settings{};
    std::copy_n(hiding.first.begin(), hiding.second, settings.begin());
    settings.back() = framework_without_devices;
    return settings;
  }();
  return all;
}

std::span<const std::string_view> device_file_beginnings() {
  return std::span(file_beginnings.first).first(file_beginnings.second);
}

}  // namespace berth
