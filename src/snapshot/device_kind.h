#pragma once
// What differs between kinds of devices for the start of a job. Which variables show or hide
// devices, which files open them, how to keep programs off all.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snapshot/device.h"

namespace berth {

/// The vendor whose versions stand under keys that name none: formats had them before others'.
constexpr Runtime unnamed_vendor = Runtime::cuda;

/// How a runtime reads the list of its visible variable (place/visible_others.h).
enum class ListSyntax : std::uint8_t {
  numbers,  // how is not known: no wider than any runtime might
  cuda,     // place/visible_devices.h
  rocr,
  level_zero,
  ascending,
};

/// The meaning of VendorSoftware::runtime. A driver that brings the runtime along tells the highest
/// version that it supports; else it is the installed one.
enum class RuntimeVersion : std::uint8_t { supported, installed };

/// What PyTorch has for a runtime's devices.
struct TorchFacts {
  std::string_view device_type = "";  // "xpu", before its number of one; empty: not known
  std::string_view build_mark = {};   // in the version of its build for them: "+xpu"; empty: none
  std::string_view package = {};      // which adds them to any build
  std::string_view how_to_get = {};   // through tr(); empty: doctor does not judge builds for them
  std::string_view library = {};      // which a process has loaded that computes on them
};

struct DeviceKindFacts {
  DeviceKind kind;
  std::string_view name;    // the word in JSON: "nvidia-gpu"
  std::string_view vendor;  // for people
  std::string_view source;  // which tells of them: SourceReport::source; empty: none yet
  Runtime runtime = Runtime::none;
  std::string_view runtime_name = {};  // "CUDA"
  RuntimeVersion runtime_version = RuntimeVersion::installed;
  bool in_kernel = false;             // Linux has a driver of its own, without a version
  std::string_view driver_file = {};  // by which programs ask the driver; empty: not looked for
  std::string_view log_advice = {};   // where the driver is silent, through tr()
  /// What lines of its driver in the kernel log have, as regular expressions.
  std::span<const std::string_view> log_words = {};
  std::string_view reset_command = {};     // "sudo nvidia-smi -r"; empty: health names none
  std::string_view visible_variable = {};  // "CUDA_VISIBLE_DEVICES"
  std::string_view order_variable = {};    // "CUDA_DEVICE_ORDER"; empty: the kind has none
  std::string_view order_value = {};       // "PCI_BUS_ID": indices then mean what the tools show
  bool is_supported = true;  // false: no job is given one yet, and its health is not judged
  /// What the paths of its files begin with: a process that has one open may compute.
  std::span<const std::string_view> file_beginnings = {};
  /// What keeps programs off all of its devices: {variable, value} each.
  std::span<const std::pair<std::string_view, std::string_view>> hiding = {};
  ListSyntax list_syntax = ListSyntax::numbers;
  std::string_view card_file = {};  // a card's own, before its minor number; empty: not known
  /// What the path of a file that is one card's, or one part's, begins with, before its number.
  std::span<const std::string_view> numbered_files = {};
  std::string_view cdi_kind = {};  // how CDI calls them: "nvidia.com/gpu"; empty: it does not
  /// By which an image or a command tells an engine's toolkit, or a runtime, what to give.
  std::string_view toolkit_variable = {};
  std::string_view word = {};  // of `--kind`, a maker's for all its kinds; empty: none
  TorchFacts torch = {};
  /// Read behind the visible one, as numbers of what that has left; empty: there is none.
  std::string_view second_variable = {};
  /// What would number anew the devices that the visible variable leaves: taken from a job.
  std::span<const std::string_view> removed_variables = {};
  /// What the names of its runtime's and its libraries' variables begin with, which change a
  /// program's results or speed. A name alone ends in "=".
  std::span<const std::string_view> variable_beginnings = {};
  /// An earlier name of the visible variable, read where that is not set. Empty: there is none.
  std::string_view earlier_variable = {};
  /// Its chips are numbered by what they can do: Device::compute_capability.
  bool has_capability = false;
  /// Why memory used is the sum of what processes hold, a lower bound, through tr(). Empty: the
  /// driver tells it.
  std::string_view used_is_sum_because = {};
  /// For parts: a program may use several, and each has a number. Neither is true of MIG.
  bool has_numbered_parts = false;
  /// What the driver itself holds of a card that nobody uses.
  Bytes idle_memory{std::uint64_t{64} << 20U};
  /// Its load may be shown as 100 % while nobody uses it: where the driver lists all processes,
  /// nobody listed is nobody.
  bool load_may_lie = false;
  /// What its programs open beside its own file.
  std::span<const std::string_view> further_files = {};
  /// A container gets it by its files alone, as the maker's documents say: its own and those.
  bool is_given_by_files = false;
  /// The command that makes its files, before the minor number, where a driver makes them late;
  /// empty: a job on it cannot be isolated yet.
  std::string_view file_maker = {};
  /// Which numbers the files of its parts have: "gpu0/gi1/access 12" a line; and what stands
  /// before.
  std::string_view part_table = {};
  std::string_view part_file = {};
  /// As /proc/devices has it: a container's rules speak of it. Empty: the kernel chooses one.
  std::string_view file_major = {};
  /// What its driver registers there, by which a service's unit allows them; and the driver's own
  /// service, which the unit waits for.
  std::span<const std::string_view> file_classes = {};
  std::string_view driver_service = {};
  std::string_view name_in_pci_ids = {};  // the maker's, in the list of PCI devices
  /// Where no source tells its memory, two things alone are read: it is there, and who has its
  /// files open. See is_only_presence().
  bool may_be_presence = false;
};

[[nodiscard]] std::span<const DeviceKindFacts> device_kinds();
[[nodiscard]] const DeviceKindFacts& facts_of(DeviceKind kind);
/// A vendor's first kind of devices that its programs compute on.
[[nodiscard]] const DeviceKindFacts& facts_of(Runtime runtime);
/// Whether it speaks for its runtime: of several kinds the first. One without a runtime does.
[[nodiscard]] inline bool speaks_for_runtime(const DeviceKindFacts& facts) {
  return facts.runtime == Runtime::none || &facts == &facts_of(facts.runtime);
}
[[nodiscard]] inline bool is_supported(const Device& device) {
  return facts_of(device.kind).is_supported;
}
/// Whether nothing is known of it but that it is there.
[[nodiscard]] inline bool is_only_presence(const Device& device) {
  return facts_of(device.kind).may_be_presence && !device.memory_total.get() &&
         device.memory_total.why() == Absent::unsupported;
}
/// Whether what is used is a lower bound.
[[nodiscard]] inline bool is_used_a_bound(const Device& device) {
  return !facts_of(device.kind).used_is_sum_because.empty() && device.memory_used.get();
}
/// Whose right it wants to know what is used, through tr(); empty: that is not why it is absent.
[[nodiscard]] std::string_view used_is_hidden_because(const Device& device);
/// Whether a job is given it though nobody names it.
[[nodiscard]] inline bool is_given_unasked(const Device& device) {
  return !device.integrated && !is_only_presence(device);
}
/// The files that a container is given for these devices, each once; nothing: one of them is not
/// given so, or its file is not known.
[[nodiscard]] std::optional<std::vector<std::string>> files_for_container(
    const std::vector<const Device*>& devices);
/// Whether programs of this runtime compute on it.
[[nodiscard]] inline bool is_of(Runtime runtime, const Device& device) {
  return facts_of(device.kind).runtime == runtime;
}
/// Whether this source (SourceReport::source, Problem::source) is the driver of a kind of devices.
[[nodiscard]] bool is_driver(std::string_view source);
[[nodiscard]] std::optional<DeviceKind> device_kind_from_name(std::string_view name);
/// The words of `--kind`, each once.
[[nodiscard]] std::vector<std::string_view> kind_words();
/// What the kernel log's lines of any of their drivers have: "NVRM|nvidia|amdgpu".
[[nodiscard]] std::string log_expression();
[[nodiscard]] std::optional<Runtime> runtime_of_vendor(std::string_view vendor);

/// N of its own file, "/dev/nvidiaN"; unsupported: what such files are called is not known.
[[nodiscard]] Reading<std::uint64_t> card_file_number(const Device& device);
/// A path that is some card's own file; nothing: another file.
struct CardFile {
  std::string_view beginning;  // DeviceKindFacts::card_file
  std::uint64_t minor = 0;
};
[[nodiscard]] std::optional<CardFile> card_file_of(std::string_view path);

/// The variables by which a program chooses its devices, all kinds together.
[[nodiscard]] std::span<const std::string_view> choosing_variables();

/// How paths of GPUs' device files begin, all kinds together. A process that has one open may
/// compute, whatever the driver lists.
[[nodiscard]] std::span<const std::string_view> device_file_beginnings();

/// What the path of one card's own file begins with, before its number, all kinds together.
[[nodiscard]] std::span<const std::string_view> numbered_files();

}  // namespace berth
