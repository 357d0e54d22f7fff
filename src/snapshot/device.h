#pragma once
// Device: one thing a job can be given: a GPU, or a part of one (a MIG instance, a partition).
// Plain data; what can be asked of it is in snapshot/questions.h, its column names, units and texts
// in snapshot/fields.h.
//
// To add a reading: a member here, a row in snapshot/fields.cc, which says whether it is a fact,
// and the probe that fills it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/reading.h"
#include "base/units.h"
#include "snapshot/details.h"
#include "snapshot/lists.h"
#include "snapshot/unusable.h"

namespace berth {

/// What sort of device it is. The kind owns the environment variables that show or hide devices to
/// a program (snapshot/device_kind.h). So nothing else says CUDA where it means "device".
enum class DeviceKind {
  nvidia_gpu,
  nvidia_mig,
  amd_gpu,
  amd_partition,
  intel_gpu,
  ascend_npu,
  hygon_dcu,
  cambricon_mlu,
  mthreads_gpu,
  metax_gpu,
  iluvatar_gpu,
  habana_gaudi,
  google_tpu,
  tenstorrent,
  aws_neuron,
  other  // the last
};

/// What computes on a device, and numbers devices in its own order. Here for the sake of a new
/// vendor: it and its kinds are said once, what they are like in snapshot/device_kind_rows.h.
enum class Runtime : std::uint8_t { none, cuda, rocm, level_zero, cann };
constexpr std::size_t runtime_count = 5;

/// Why clocks are not as high as they could be. The numbers stand in formats
/// (`throttle_reasons_mask`); a source translates its vendor's into them.
enum class ClockReason : std::uint64_t {
  idle = 0x1,
  set_clocks = 0x2,       // somebody set them
  power_cap = 0x4,        // the power limit, by the driver
  hardware = 0x8,         // heat or power: another of these says which
  sync_boost = 0x10,      // the slowest card of a group
  driver_thermal = 0x20,  // the driver keeps the card at its limit
  hardware_thermal = 0x40,
  power_brake = 0x80,  // the power supply asks for it
  display = 0x100,
};
/// The sum of those that apply; of newer drivers also numbers that have no name here.
using ClockReasons = Quantity<struct ClockReasonsTag, std::uint64_t>;

template <class... Reasons>
[[nodiscard]] constexpr bool has_any(ClockReasons reasons, Reasons... asked) {
  return (reasons.count() & (static_cast<std::uint64_t>(asked) | ...)) != 0;
}

/// Which part of its parent it is: of MIG both numbers, of others the first.
struct Partition {
  std::uint32_t gpu_instance = 0;
  std::uint32_t compute_instance = 0;
  friend bool operator==(const Partition&, const Partition&) = default;
};

struct ComputeCapability {
  int major = 0;
  int minor = 0;
  friend auto operator<=>(const ComputeCapability&, const ComputeCapability&) = default;
};
/// "9.0".
[[nodiscard]] inline std::string capability_text(ComputeCapability capability) {
  return std::to_string(capability.major) + "." + std::to_string(capability.minor);
}

/// One entry of the driver's own utilisation history.
struct UtilizationSample {
  Milliseconds age;  // before Snapshot::taken
  Percent busy;
  friend bool operator==(const UtilizationSample&, const UtilizationSample&) = default;
};

struct Device {
  // --- identity -----------------------------------------------------------------------------
  DeviceId id;
  DeviceKind kind = DeviceKind::other;
  std::optional<DeviceId> parent;  // of a part: a MIG instance, a partition of AMD's
  std::optional<Partition> partition;
  /// The index that its tool (nvidia-smi) shows it under today; a partition has its parent's.
  /// Nothing for devices that no driver numbers. Where there are cards of several makers, those of
  /// the first come first.
  std::optional<int> index;
  /// The number that a program of its runtime takes in the visible-devices variable, where it is
  /// another: runtime_number() of snapshot/questions.h.
  std::optional<int> runtime_index;

  /// Why no job can be given this device although it is there: no driver bound, lost, a kind whose
  /// readings are not supported yet. Empty: usable.
  WhyUnusable unusable_because;
  /// The device fell off the bus (or answers as if): its other readings are absent.
  bool lost = false;
  /// It is a part of the processor, with the processor's memory: no job is given it unasked.
  bool integrated = false;

  // --- facts --------------------------------------------------------------------------------
  Reading<std::string> name;
  Reading<std::string> uuid;
  Reading<std::string> pci_address;    // "00000000:3b:00.0", lower case, 8-digit domain
  Reading<std::string> pci_id;         // "10de:2330"
  Reading<std::string> kernel_driver;  // bound kernel driver, "nvidia"
  Reading<std::string> serial;
  Reading<std::string> vbios_version;
  Reading<std::uint64_t> minor_number;  // N of /dev/nvidiaN or renderDN: no index
  Reading<std::string> architecture;    // "Hopper"
  Reading<ComputeCapability> compute_capability;
  Reading<std::uint64_t> cuda_cores;
  Reading<std::uint64_t> multiprocessors;
  Reading<std::uint64_t> memory_bus_width;   // bits
  Reading<BytesPerSecond> memory_bandwidth;  // theoretical peak
  Reading<std::uint64_t> numa_node;
  Reading<std::string> brand;

  // --- state --------------------------------------------------------------------------------
  Reading<bool> persistence_mode;
  Reading<bool> mig_mode;
  /// How AMD's card is divided, and its memory: "SPX NPS1" is whole, "CPX NPS4" many parts.
  Reading<std::string> partition_mode;
  Reading<bool> ecc_mode;
  Reading<bool> display_active;
  Reading<bool> display_attached;
  Reading<std::string> compute_mode;  // "Default", "Exclusive_Process", "Prohibited"
  Reading<std::uint64_t> performance_state;

  // --- memory -------------------------------------------------------------------------------
  Reading<Bytes> memory_total;
  Reading<Bytes> memory_used;  // without `reserved` where the driver tells them apart
  Reading<Bytes> memory_free;
  Reading<Bytes> memory_reserved;

  /// Processes that the driver lists on it. Absent where the list could not be read: unknown users
  /// are not the same as none.
  Reading<std::uint64_t> process_count;

  // --- load ---------------------------------------------------------------------------------
  Reading<Percent> utilization_gpu;     // share of time a kernel ran; not how full the chip was
  Reading<Percent> utilization_memory;  // share of time memory was read or written
  Reading<Percent> utilization_encoder;
  Reading<Percent> utilization_decoder;
  /// The driver's own recent samples of utilization_gpu, newest first; empty list: it keeps a
  /// history and nothing is in it.
  Reading<std::vector<UtilizationSample>> utilization_history;

  // --- power, heat, clocks --------------------------------------------------------------------
  Reading<Celsius> temperature;
  Reading<Celsius> temperature_memory;
  Reading<Celsius> temperature_slowdown;
  Reading<Percent> fan_speed;
  Reading<Milliwatts> power_draw;
  Reading<Milliwatts> power_limit;  // enforced now
  Reading<Milliwatts> power_limit_default;
  Reading<Millijoules> energy;  // since the driver was loaded
  Reading<Megahertz> clock_graphics;
  Reading<Megahertz> clock_sm;
  Reading<Megahertz> clock_memory;
  Reading<Megahertz> clock_graphics_max;
  Reading<Megahertz> clock_sm_max;
  Reading<Megahertz> clock_memory_max;
  Reading<ClockReasons> throttle_reasons;

  // --- PCIe -----------------------------------------------------------------------------------
  Reading<std::uint64_t> pcie_generation;
  Reading<std::uint64_t> pcie_generation_max;  // best of card and slot together
  Reading<std::uint64_t> pcie_width;
  Reading<std::uint64_t> pcie_width_max;
  Reading<Bytes> pcie_sent;      // counter since driver load (field 197)
  Reading<Bytes> pcie_received;  // counter since driver load (field 198)
  Reading<std::uint64_t> pcie_replays;

  // --- errors ---------------------------------------------------------------------------------
  Reading<std::uint64_t> ecc_corrected;    // volatile, total
  Reading<std::uint64_t> ecc_uncorrected;  // volatile, total

  // --- only when asked for --------------------------------------------------------------------
  Details details;
  Lists lists;

  friend bool operator==(const Device&, const Device&) = default;
};

}  // namespace berth
