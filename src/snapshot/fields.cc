#include "snapshot/fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <type_traits>
#include <unordered_map>

#include "base/member_count.h"
#include "base/text.h"
#include "snapshot/device_kind.h"
#include "snapshot/fields_aliases.h"
#include "snapshot/fields_board.h"
#include "snapshot/fields_clocks.h"
#include "snapshot/fields_load.h"
#include "snapshot/fields_power.h"
#include "snapshot/fields_window.h"
#include "snapshot/questions.h"

namespace berth {

// --- between a member's own type and a cell -----------------------------------------------------

static Scalar cell_value(ComputeCapability capability) { return capability_text(capability); }

template <>
struct FromCell<ComputeCapability> {
  static std::optional<ComputeCapability> read(const Scalar& value) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) return std::nullopt;
    const auto parts = split(*text, '.');
    if (parts.size() != 2) return std::nullopt;
    const auto major = parse_unsigned(parts[0]);
    const auto minor = parse_unsigned(parts[1]);
    if (!major || !minor || *major > 1000 || *minor > 1000) return std::nullopt;
    return ComputeCapability{static_cast<int>(*major), static_cast<int>(*minor)};
  }
};

namespace {

template <auto Member>
Cell read_member(const Device& device, const Snapshot&) {
  const auto& reading = device.*Member;
  if (!reading.get()) return reading.why();
  return cell_value(*reading.get());
}

template <auto Member>
bool write_member(Device& device, const Cell& cell) {
  using Stored = std::decay_t<decltype(device.*Member)>;
  auto reading = reading_of<typename Stored::value_type>(cell);
  if (!reading) return false;
  device.*Member = std::move(*reading);
  return true;
}

template <auto... Members>
void want_members(Wanted& wanted) {
  wanted.add<Members...>();
}

template <Extra... Extras>
void want_extras(Wanted& wanted) {
  (wanted.add(Extras), ...);
}

template <auto Member>
constexpr Field state(std::string_view key, std::string_view header, std::string_view smi,
                      std::string_view metric, Unit unit, std::string_view help) {
  return {key,
          header,
          smi,
          metric,
          unit,
          help,
          read_member<Member>,
          write_member<Member>,
          std::nullopt,
          want_members<Member>};
}

/// Stays true of a device that is lost.
template <auto Member>
constexpr Field fact(std::string_view key, std::string_view header, std::string_view smi,
                     std::string_view metric, Unit unit, std::string_view help) {
  Field row = state<Member>(key, header, smi, metric, unit, help);
  row.is_fact = true;
  return row;
}

// --- derived ------------------------------------------------------------------------------------

Cell read_state(const Device& device, const Snapshot& snapshot) {
  return Scalar(std::string(name_of(state_of(device, snapshot))));
}

Cell read_failed_because(const Device& device, const Snapshot& snapshot) {
  const DeviceFault* fault = fault_of(device.id, snapshot);
  if (fault != nullptr) return Scalar(fault->evidence.english());
  if (is_verdict_unread(device, snapshot)) return Absent::failed;
  return Scalar(std::string());
}

Cell read_index(const Device& device, const Snapshot&) {
  if (!device.index) return Absent::unsupported;
  return Scalar(static_cast<std::uint64_t>(*device.index));
}

Cell read_id(const Device& device, const Snapshot&) { return Scalar(device.id.text()); }

/// Absent where somebody may be missing from them.
Cell read_users(const Device& device, const Snapshot& snapshot) {
  if (is_ledger_unread(snapshot)) return Absent::failed;
  if (is_list_unread(device)) return device.process_count.why();
  return Scalar(joined(users_of(device, snapshot), " "));
}

Cell read_reserved_for(const Device& device, const Snapshot& snapshot) {
  if (is_ledger_unread(snapshot)) return Absent::failed;
  return Scalar(joined(users_waiting_for(device, snapshot), " "));
}

Cell read_leases(const Device& device, const Snapshot& snapshot) {
  if (is_ledger_unread(snapshot)) return Absent::failed;
  return Scalar(static_cast<std::uint64_t>(claims_on(device.id, snapshot).size()));
}

/// Absent where nothing is told that could be one.
Cell read_used_is_bound(const Device& device, const Snapshot&) {
  if (!device.memory_used.get()) return device.memory_used.why();
  return Scalar(is_used_a_bound(device));
}

Cell read_unexplained(const Device& device, const Snapshot& snapshot) {
  const Reading<Bytes> unexplained = unexplained_memory(device, snapshot);
  if (!unexplained.get()) return unexplained.why();
  return Scalar(unexplained.get()->count());
}

void want_state(Wanted& wanted) { wanted.add(Wanted(Depth::placement)); }

void want_unexplained(Wanted& wanted) {
  wanted.add(Extra::processes).add(Extra::instances).add<&Device::memory_used>();
}

Cell read_taken(const Device&, const Snapshot& snapshot) { return Scalar(snapshot.taken.unix_ms); }
Cell read_driver(const Device& device, const Snapshot& snapshot) {
  return cell_of(snapshot.host.software_of(device).driver);
}
Cell read_cuda(const Device& device, const Snapshot& snapshot) {
  if (!is_of(Runtime::cuda, device)) return Absent::unsupported;
  return cell_of(snapshot.host.software_of(device).runtime);
}

/// Those of the driver that this device has: what nvidia-smi counts.
Cell read_count(const Device& device, const Snapshot& snapshot) {
  const Runtime runtime = facts_of(device.kind).runtime;
  const auto count = std::ranges::count_if(snapshot.devices, [&](const Device& one) {
    return is_of(runtime, one) && one.index && !one.parent;
  });
  return Scalar(static_cast<std::uint64_t>(count));
}

/// A part of "00000000:3b:00.0", by where it begins and how long it is.
template <std::size_t Begin, std::size_t Length>
Cell read_pci_part(const Device& device, const Snapshot&) {
  if (!device.pci_address.get()) return device.pci_address.why();
  const std::string& address = *device.pci_address.get();
  std::uint64_t number = 0;
  if (address.size() < Begin + Length) return Absent::failed;
  const char* end = address.data() + Begin + Length;
  const auto parsed = std::from_chars(address.data() + Begin, end, number, 16);
  if (parsed.ec != std::errc() || parsed.ptr != end) return Absent::failed;
  return Scalar(number);
}

template <ClockReason Reason>
Cell read_throttle(const Device& device, const Snapshot&) {
  if (!device.throttle_reasons.get()) return device.throttle_reasons.why();
  return Scalar(has_any(*device.throttle_reasons.get(), Reason));
}

using D = Device;
using enum Unit;

constexpr auto table = std::to_array<Field>({
    {"index", "GPU", "index", "", count, "Number shown today; it can change with a reboot.",
     read_index, nullptr},
    {"id", "ID", "", "", none, "Lasting identity: the UUID, else the PCI address.", read_id,
     nullptr},
    fact<&D::name>("name", "Name", "name", "", none, "Product name."),
    fact<&D::uuid>("uuid", "UUID", "uuid", "", none, "Identity given by the maker."),
    fact<&D::pci_address>("pci_address", "PCI address", "pci.bus_id", "", none,
                          "Where it sits: domain:bus:device.function."),
    fact<&D::pci_id>("pci_id", "PCI ID", "pci.device_id", "", none,
                     "Vendor and device number, hexadecimal."),
    fact<&D::kernel_driver>("kernel_driver", "Kernel driver", "", "", none,
                            "Kernel driver bound to the device."),
    {"state", "State", "", "", none,
     "free, leased, lost, unusable. reserved: free, but for somebody in the queue. busy: without a "
     "lease. held: memory taken, nothing running. divided: by MIG. failed: nobody is on it, and no "
     "job is given it. unknown: who is on it, whose lease it is, or whether it has failed, could "
     "not be read.",
     read_state, nullptr, std::nullopt, want_state},
    {"failed_because", "Failed because", "", "", none,
     "Why no job is given it, as `berth health` judges, also while in use. Empty: nothing forbids "
     "it. Absent: whether anything does could not be read.",
     read_failed_because, nullptr, std::nullopt, want_extras<Extra::verdicts>},
    {"users", "Users", "", "", none,
     "Users with a process or a lease on it; absent: processes or leases could not be read.",
     read_users, nullptr, std::nullopt,
     want_extras<Extra::processes, Extra::instances, Extra::process_owners, Extra::leases>},
    {"reserved_for", "Reserved for", "", "", none,
     "Users in the queue for whom it is reserved, whole or in part. Absent: the queue could not be "
     "read.",
     read_reserved_for, nullptr, std::nullopt, want_extras<Extra::leases>},
    {"leases", "Leases", "", "berth_device_leases", count, "Leases that name the device.",
     read_leases, nullptr, std::nullopt, want_extras<Extra::leases>},
    fact<&D::brand>("brand", "Brand", "", "", none, "Product line."),
    fact<&D::serial>("serial", "Serial", "serial", "", none, "Serial number of the board."),
    fact<&D::vbios_version>("vbios_version", "VBIOS", "vbios_version", "", none,
                            "Version of the card's firmware."),
    fact<&D::minor_number>("minor_number", "Minor", "", "", count,
                           "N of /dev/nvidiaN, which is not the index."),
    fact<&D::architecture>("architecture", "Architecture", "", "", none, "Chip generation."),
    fact<&D::compute_capability>("compute_capability", "Compute", "compute_cap", "", none,
                                 "CUDA compute capability."),
    fact<&D::cuda_cores>("cuda_cores", "CUDA cores", "", "", count,
                         "FP32 lanes enabled on this product, not on the full die."),
    fact<&D::multiprocessors>("multiprocessors", "SMs", "", "", count,
                              "Streaming multiprocessors enabled on this product."),
    fact<&D::memory_bus_width>("memory_bus_width_bits", "Bus width", "", "", bits,
                               "Width of the memory interface."),
    fact<&D::memory_bandwidth>("memory_bandwidth_bytes_per_second", "Bandwidth", "",
                               "berth_device_memory_bandwidth_bytes_per_second", bytes_per_second,
                               "Peak memory bandwidth by clock and width."),
    fact<&D::numa_node>("numa_node", "NUMA", "", "", count, "NUMA node it is attached to."),
    state<&D::persistence_mode>("persistence_mode", "Persistence", "persistence_mode",
                                "berth_device_persistence_mode", none,
                                "Whether the driver stays loaded while nobody uses the card."),
    state<&D::mig_mode>("mig_mode", "MIG", "mig.mode.current", "berth_device_mig_mode", none,
                        "Whether the card is divided into MIG instances."),
    state<&D::partition_mode>("partition_mode", "Partitions", "", "", none,
                              "How AMD's card and its memory are divided: SPX is whole."),
    state<&D::ecc_mode>("ecc_mode", "ECC", "ecc.mode.current", "berth_device_ecc_mode", none,
                        "Whether memory errors are corrected."),
    state<&D::display_active>("display_active", "Display", "display_active", "", none,
                              "Whether a display is driven by it."),
    state<&D::display_attached>("display_attached", "Attached", "display_attached", "", none,
                                "Whether a display is plugged into it."),
    state<&D::compute_mode>("compute_mode", "Compute mode", "compute_mode", "", none,
                            "Who may compute on it: Default, Exclusive_Process, Prohibited."),
    state<&D::performance_state>("performance_state", "P-state", "pstate",
                                 "berth_device_performance_state", count,
                                 "0 is full speed, 15 the lowest."),
    state<&D::memory_total>("memory_total_bytes", "Memory", "memory.total",
                            "berth_device_memory_total_bytes", bytes, "All of its memory."),
    state<&D::memory_used>("memory_used_bytes", "Used", "memory.used",
                           "berth_device_memory_used_bytes", bytes,
                           "Memory allocated, without what the driver reserves for itself; at "
                           "least so much where memory_used_is_bound."),
    {"memory_used_is_bound", "Used is bound", "", "berth_device_memory_used_is_bound", none,
     "Whether memory used is what its processes hold and so a lower bound: Intel's driver tells it "
     "to CAP_PERFMON alone.",
     read_used_is_bound, nullptr, std::nullopt, want_members<&D::memory_used>},
    state<&D::memory_free>("memory_free_bytes", "Free", "memory.free",
                           "berth_device_memory_free_bytes", bytes, "Memory nobody holds."),
    state<&D::memory_reserved>("memory_reserved_bytes", "Reserved", "memory.reserved",
                               "berth_device_memory_reserved_bytes", bytes,
                               "Memory the driver keeps for itself."),
    {"memory_unexplained_bytes", "Unexplained", "", "berth_device_memory_unexplained_bytes", bytes,
     "Memory used less what its processes account for.", read_unexplained, nullptr, std::nullopt,
     want_unexplained},
    state<&D::process_count>("process_count", "Processes", "", "berth_device_processes", count,
                             "Processes that the driver lists on it."),
    state<&D::utilization_gpu>("utilization_gpu_percent", "Util", "utilization.gpu",
                               "berth_device_utilization_ratio", percent,
                               "Share of time in which any kernel ran."),
    state<&D::utilization_memory>("utilization_memory_percent", "Mem util", "utilization.memory",
                                  "berth_device_memory_utilization_ratio", percent,
                                  "Share of time in which memory was read or written."),
    state<&D::utilization_encoder>("utilization_encoder_percent", "Enc", "utilization.encoder",
                                   "berth_device_encoder_utilization_ratio", percent,
                                   "Load of the video encoder."),
    state<&D::utilization_decoder>("utilization_decoder_percent", "Dec", "utilization.decoder",
                                   "berth_device_decoder_utilization_ratio", percent,
                                   "Load of the video decoder."),
    state<&D::temperature>("temperature_celsius", "Temp", "temperature.gpu",
                           "berth_device_temperature_celsius", celsius, "Chip temperature."),
    state<&D::temperature_memory>("temperature_memory_celsius", "Mem temp", "temperature.memory",
                                  "berth_device_memory_temperature_celsius", celsius,
                                  "Memory temperature."),
    state<&D::temperature_slowdown>("temperature_slowdown_celsius", "Slows at", "",
                                    "berth_device_slowdown_temperature_celsius", celsius,
                                    "Temperature at which it slows itself down."),
    state<&D::fan_speed>("fan_speed_percent", "Fan", "fan.speed", "berth_device_fan_speed_ratio",
                         percent, "Fan speed intended, of its maximum."),
    state<&D::power_draw>("power_draw_milliwatts", "Power", "power.draw",
                          "berth_device_power_watts", milliwatts, "Power drawn by the board."),
    state<&D::power_limit>("power_limit_milliwatts", "Limit", "enforced.power.limit",
                           "berth_device_power_limit_watts", milliwatts, "Power limit in force."),
    state<&D::power_limit_default>("power_limit_default_milliwatts", "Default limit",
                                   "power.default_limit", "berth_device_power_limit_default_watts",
                                   milliwatts, "Power limit after a reboot."),
    state<&D::energy>("energy_millijoules", "Energy", "", "berth_device_energy_joules_total",
                      millijoules, "Energy used since the driver was loaded."),
    state<&D::clock_graphics>("clock_graphics_megahertz", "Clock", "clocks.current.graphics",
                              "berth_device_graphics_clock_hertz", megahertz, "Graphics clock."),
    state<&D::clock_sm>("clock_sm_megahertz", "SM clock", "clocks.current.sm",
                        "berth_device_sm_clock_hertz", megahertz, "Clock of the SMs."),
    state<&D::clock_memory>("clock_memory_megahertz", "Mem clock", "clocks.current.memory",
                            "berth_device_memory_clock_hertz", megahertz, "Memory clock."),
    state<&D::clock_graphics_max>("clock_graphics_max_megahertz", "Max clock",
                                  "clocks.max.graphics", "berth_device_graphics_clock_max_hertz",
                                  megahertz, "Highest graphics clock."),
    state<&D::clock_sm_max>("clock_sm_max_megahertz", "Max SM clock", "clocks.max.sm",
                            "berth_device_sm_clock_max_hertz", megahertz,
                            "Highest clock of the SMs."),
    state<&D::clock_memory_max>("clock_memory_max_megahertz", "Max mem clock", "clocks.max.memory",
                                "berth_device_memory_clock_max_hertz", megahertz,
                                "Highest memory clock."),
    state<&D::throttle_reasons>("throttle_reasons_mask", "Throttled", "clocks_event_reasons.active",
                                "", count, "NVML's bit mask of what holds the clocks back."),
    state<&D::pcie_generation>("pcie_generation", "PCIe gen", "pcie.link.gen.gpucurrent",
                               "berth_device_pcie_generation", count,
                               "PCIe generation now; low while idle is normal."),
    state<&D::pcie_generation_max>("pcie_generation_max", "PCIe gen max", "pcie.link.gen.max",
                                   "berth_device_pcie_generation_max", count,
                                   "Best PCIe generation of card and slot together."),
    state<&D::pcie_width>("pcie_width", "PCIe width", "pcie.link.width.current",
                          "berth_device_pcie_width", count, "PCIe lanes now."),
    state<&D::pcie_width_max>("pcie_width_max", "PCIe width max", "pcie.link.width.max",
                              "berth_device_pcie_width_max", count,
                              "Most PCIe lanes of card and slot together."),
    state<&D::pcie_sent>("pcie_sent_bytes", "PCIe sent", "", "berth_device_pcie_sent_bytes_total",
                         bytes, "Bytes sent over PCIe since the driver was loaded."),
    state<&D::pcie_received>("pcie_received_bytes", "PCIe received", "",
                             "berth_device_pcie_received_bytes_total", bytes,
                             "Bytes received over PCIe since the driver was loaded."),
    state<&D::pcie_replays>("pcie_replays", "PCIe replays", "", "berth_device_pcie_replays_total",
                            count, "PCIe packets that had to be sent again."),
    state<&D::ecc_corrected>("ecc_corrected_errors", "ECC corrected",
                             "ecc.errors.corrected.volatile.total",
                             "berth_device_ecc_corrected_errors_total", count,
                             "Memory errors corrected since the driver was loaded."),
    state<&D::ecc_uncorrected>("ecc_uncorrected_errors", "ECC uncorrected",
                               "ecc.errors.uncorrected.volatile.total",
                               "berth_device_ecc_uncorrected_errors_total", count,
                               "Memory errors not corrected since the driver was loaded."),
    // Derived, because nvidia-smi has names for them.
    {"taken_unix_ms", "Taken", "timestamp", "", milliseconds, "When it was looked at, since 1970.",
     read_taken},
    {"driver_version", "Driver", "driver_version", "", none, "Version of the driver.", read_driver,
     nullptr, std::nullopt, want_extras<Extra::driver_version>},
    {"cuda_version", "CUDA", "", "", none, "Newest CUDA that the driver can run.", read_cuda,
     nullptr, std::nullopt, want_extras<Extra::runtime_version>},
    {"device_count", "GPUs", "count", "", count, "GPUs that the driver has.", read_count},
    {"pci_domain", "PCI domain", "pci.domain", "", count, "First part of its PCI address.",
     read_pci_part<0, 8>},
    {"pci_bus", "PCI bus", "pci.bus", "", count, "Second part of its PCI address.",
     read_pci_part<9, 2>},
    {"pci_device", "PCI device", "pci.device", "", count, "Third part of its PCI address.",
     read_pci_part<12, 2>},
    {"throttle_idle", "Idle", "clocks_event_reasons.gpu_idle",
     "berth_device_throttled{reason=\"idle\"}", none, "Clocks are low because nothing runs.",
     read_throttle<ClockReason::idle>, nullptr, std::nullopt, want_members<&D::throttle_reasons>},
    {"throttle_application_clocks", "Set clocks",
     "clocks_event_reasons.applications_clocks_setting",
     "berth_device_throttled{reason=\"set_clocks\"}", none,
     "Clocks are held where somebody set them.", read_throttle<ClockReason::set_clocks>, nullptr,
     std::nullopt, want_members<&D::throttle_reasons>},
    {"throttle_power_cap", "Power cap", "clocks_event_reasons.sw_power_cap",
     "berth_device_throttled{reason=\"power_cap\"}", none,
     "Clocks are held back by the power limit.", read_throttle<ClockReason::power_cap>, nullptr,
     std::nullopt, want_members<&D::throttle_reasons>},
    {"throttle_hardware", "HW slowdown", "clocks_event_reasons.hw_slowdown",
     "berth_device_throttled{reason=\"hardware\"}", none,
     "The chip slows itself down: heat or power supply.", read_throttle<ClockReason::hardware>,
     nullptr, std::nullopt, want_members<&D::throttle_reasons>},
    {"throttle_sync_boost", "Sync boost", "clocks_event_reasons.sync_boost",
     "berth_device_throttled{reason=\"sync_boost\"}", none, "Clocks follow the slowest of a group.",
     read_throttle<ClockReason::sync_boost>, nullptr, std::nullopt,
     want_members<&D::throttle_reasons>},
    {"throttle_software_thermal", "SW thermal", "clocks_event_reasons.sw_thermal_slowdown",
     "berth_device_throttled{reason=\"software_thermal\"}", none,
     "The driver slows it down for its heat.", read_throttle<ClockReason::driver_thermal>, nullptr,
     std::nullopt, want_members<&D::throttle_reasons>},
    {"throttle_hardware_thermal", "HW thermal", "clocks_event_reasons.hw_thermal_slowdown",
     "berth_device_throttled{reason=\"hardware_thermal\"}", none,
     "The chip slows itself down for its heat.", read_throttle<ClockReason::hardware_thermal>,
     nullptr, std::nullopt, want_members<&D::throttle_reasons>},
    {"throttle_power_brake", "Power brake", "clocks_event_reasons.hw_power_brake_slowdown",
     "berth_device_throttled{reason=\"power_brake\"}", none,
     "The power supply asks it to slow down.", read_throttle<ClockReason::power_brake>, nullptr,
     std::nullopt, want_members<&D::throttle_reasons>},
    {"throttle_display", "Display clocks", "", "berth_device_throttled{reason=\"display\"}", none,
     "Clocks are held for a display.", read_throttle<ClockReason::display>, nullptr, std::nullopt,
     want_members<&D::throttle_reasons>},
});

constexpr std::size_t table_size = std::size(table);

/// What walk() of walk.cc names itself: who and what it is, its history, details and lists.
constexpr std::size_t members_without_row = 12;
static_assert(std::ranges::count_if(table, [](const Field& row) { return row.write != nullptr; }) +
                      members_without_row ==
                  member_count<Device>(),
              "each member of Device has a row in fields.cc, or is named by walk() of walk.cc and "
              "counted here: else nobody prints or sends it");

template <std::size_t... Sizes>
constexpr auto joined(const std::array<Field, Sizes>&... parts) {
  std::array<Field, (Sizes + ...)> all;
  auto at = all.begin();
  ((at = std::ranges::copy(parts, at).out), ...);
  return all;
}

constexpr auto all_fields =
    joined(table, field_rows::board_details, field_rows::load_details, field_rows::power_details,
           field_rows::clock_details, field_rows::window_details);

constexpr bool details_stand_in_order() {
  for (std::size_t i = 0; i < detail_count; ++i) {
    if (all_fields[table_size + i].detail != static_cast<Detail>(i)) return false;
  }
  return all_fields.size() == table_size + detail_count;
}
static_assert(details_stand_in_order(), "one row per Detail, in the order of the enumeration");

}  // namespace

std::span<const Field> fields() { return all_fields; }

std::span<const Field* const> stored_fields() {
  static const std::vector<const Field*> stored = [] {
    std::vector<const Field*> rows;
    for (const Field& field : all_fields) {
      if (field.write != nullptr && !field.detail) rows.push_back(&field);
    }
    return rows;
  }();
  return stored;
}

const Field& field_of(Detail detail) {
  return all_fields.at(table_size + static_cast<std::size_t>(detail));
}

const Field* find_field(std::string_view name) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, const Field*> map;
    map.reserve(2 * all_fields.size() + std::size(field_rows::aliases));
    for (const Field& field : all_fields) {
      map.emplace(field.key, &field);
      if (!field.smi.empty()) map.emplace(field.smi, &field);
    }
    for (const auto& [alias, of] : field_rows::aliases) map.emplace(alias, map.at(of));
    return map;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

}  // namespace berth
