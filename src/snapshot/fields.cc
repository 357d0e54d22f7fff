#include "snapshot/fields.h"

#include <array>
#include <charconv>
#include <string>
#include <type_traits>
#include <utility>

#include "base/text.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

// --- between a member's own type and a cell -----------------------------------------------------

CellValue cell_value(const std::string& text) { return text; }
CellValue cell_value(bool yes) { return yes; }
CellValue cell_value(std::uint64_t number) { return number; }
CellValue cell_value(ComputeCapability capability) {
  return std::to_string(capability.major) + "." + std::to_string(capability.minor);
}
template <class Tag, class Rep>
CellValue cell_value(Quantity<Tag, Rep> quantity) {
  return quantity.count();
}

template <class T>
struct FromCell;  // read(CellValue) -> optional<T>

template <>
struct FromCell<std::string> {
  static std::optional<std::string> read(const CellValue& value) {
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    return std::nullopt;
  }
};
template <>
struct FromCell<bool> {
  static std::optional<bool> read(const CellValue& value) {
    if (const auto* yes = std::get_if<bool>(&value)) return *yes;
    return std::nullopt;
  }
};

/// A number of another type only where nothing is lost.
template <class To>
std::optional<To> exact_number(const CellValue& value) {
  return std::visit(
      [](const auto& number) -> std::optional<To> {
        using From = std::decay_t<decltype(number)>;
        if constexpr (std::is_same_v<From, std::string> || std::is_same_v<From, bool>) {
          return std::nullopt;
        } else if constexpr (std::is_floating_point_v<To>) {
          return static_cast<To>(number);
        } else if constexpr (std::is_floating_point_v<From>) {
          if (!(number >= -9.0e15 && number <= 9.0e15)) return std::nullopt;
          const auto whole = static_cast<std::int64_t>(number);
          if (static_cast<double>(whole) != number || !std::in_range<To>(whole)) {
            return std::nullopt;
          }
          return static_cast<To>(whole);
        } else {
          if (!std::in_range<To>(number)) return std::nullopt;
          return static_cast<To>(number);
        }
      },
      value);
}

template <>
struct FromCell<std::uint64_t> {
  static std::optional<std::uint64_t> read(const CellValue& value) {
    return exact_number<std::uint64_t>(value);
  }
};
template <class Tag, class Rep>
struct FromCell<Quantity<Tag, Rep>> {
  static std::optional<Quantity<Tag, Rep>> read(const CellValue& value) {
    const auto number = exact_number<Rep>(value);
    if (!number) return std::nullopt;
    return Quantity<Tag, Rep>(*number);
  }
};
template <>
struct FromCell<ComputeCapability> {
  static std::optional<ComputeCapability> read(const CellValue& value) {
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

template <auto Member>
Cell read_member(const Device& device, const Snapshot&) {
  const auto& reading = device.*Member;
  if (!reading.get()) return reading.why();
  return cell_value(*reading.get());
}

template <auto Member>
bool write_member(Device& device, const Cell& cell) {
  using Stored = std::decay_t<decltype(device.*Member)>;
  if (!cell.get()) {
    device.*Member = Stored(cell.why());
    return true;
  }
  auto value = FromCell<typename Stored::value_type>::read(*cell.get());
  if (!value) return false;
  device.*Member = Stored(std::move(*value));
  return true;
}

template <auto Member>
constexpr Field stored(std::string_view key, std::string_view header, std::string_view smi,
                       std::string_view metric, Unit unit, std::string_view help) {
  return {key, header, smi, metric, unit, help, read_member<Member>, write_member<Member>};
}

// --- derived
// --------------------------------------------------------------------------------------

Cell read_state(const Device& device, const Snapshot& snapshot) {
  return CellValue(std::string(name_of(state_of(device, snapshot))));
}

Cell read_index(const Device& device, const Snapshot&) {
  if (!device.index) return Absent::unsupported;
  return CellValue(static_cast<std::uint64_t>(*device.index));
}

Cell read_id(const Device& device, const Snapshot&) { return CellValue(device.id.text()); }

Cell read_users(const Device& device, const Snapshot& snapshot) {
  std::string names;
  for (const std::string& user : users_of(device, snapshot)) {
    if (!names.empty()) names += ' ';
    names += user;
  }
  return CellValue(names);
}

Cell read_leases(const Device& device, const Snapshot& snapshot) {
  return CellValue(static_cast<std::uint64_t>(claims_on(device.id, snapshot).size()));
}

Cell read_unexplained(const Device& device, const Snapshot& snapshot) {
  const Reading<Bytes> unexplained = unexplained_memory(device, snapshot);
  if (!unexplained.get()) return unexplained.why();
  return CellValue(unexplained.get()->count());
}

using D = Device;
using enum Unit;

constexpr auto table = std::to_array<Field>({
    {"index", "GPU", "index", "", count, "Number shown today; it can change with a reboot.",
     read_index, nullptr},
    {"id", "ID", "", "", none, "Lasting identity: the UUID, else the PCI address.", read_id,
     nullptr},
    stored<&D::name>("name", "Name", "name", "", none, "Product name."),
    stored<&D::uuid>("uuid", "UUID", "uuid", "", none, "Identity given by the maker."),
    stored<&D::pci_address>("pci_address", "PCI address", "pci.bus_id", "", none,
                            "Where it sits: domain:bus:device.function."),
    stored<&D::pci_id>("pci_id", "PCI ID", "", "", none, "Vendor and device number, hexadecimal."),
    stored<&D::kernel_driver>("kernel_driver", "Kernel driver", "", "", none,
                              "Kernel driver bound to the device."),
    {"state", "State", "", "", none,
     "free, leased, busy (without a lease), held (memory taken, nothing running), unknown (who is "
     "on it could not be read), lost or unusable.",
     read_state, nullptr},
    {"users", "Users", "", "", none, "Users with a process or a lease on it.", read_users, nullptr},
    {"leases", "Leases", "", "berth_device_leases", count, "Leases that name the device.",
     read_leases, nullptr},
    stored<&D::brand>("brand", "Brand", "", "", none, "Product line."),
    stored<&D::serial>("serial", "Serial", "serial", "", none, "Serial number of the board."),
    stored<&D::vbios_version>("vbios_version", "VBIOS", "vbios_version", "", none,
                              "Version of the card's firmware."),
    stored<&D::minor_number>("minor_number", "Minor", "", "", count,
                             "N of /dev/nvidiaN, which is not the index."),
    stored<&D::architecture>("architecture", "Architecture", "", "", none, "Chip generation."),
    stored<&D::compute_capability>("compute_capability", "Compute", "compute_cap", "", none,
                                   "CUDA compute capability."),
    stored<&D::cuda_cores>("cuda_cores", "CUDA cores", "", "", count,
                           "FP32 lanes enabled on this product, not on the full die."),
    stored<&D::multiprocessors>("multiprocessors", "SMs", "", "", count,
                                "Streaming multiprocessors enabled on this product."),
    stored<&D::memory_bus_width>("memory_bus_width_bits", "Bus width", "", "", bits,
                                 "Width of the memory interface."),
    stored<&D::memory_bandwidth>("memory_bandwidth_bytes_per_second", "Bandwidth", "", "",
                                 bytes_per_second, "Peak memory bandwidth by clock and width."),
    stored<&D::numa_node>("numa_node", "NUMA", "", "", count, "NUMA node it is attached to."),
    stored<&D::persistence_mode>("persistence_mode", "Persistence", "persistence_mode", "", none,
                                 "Whether the driver stays loaded while nobody uses the card."),
    stored<&D::mig_mode>("mig_mode", "MIG", "mig.mode.current", "", none,
                         "Whether the card is divided into MIG instances."),
    stored<&D::ecc_mode>("ecc_mode", "ECC", "ecc.mode.current", "", none,
                         "Whether memory errors are corrected."),
    stored<&D::display_active>("display_active", "Display", "display_active", "", none,
                               "Whether a display is driven by it."),
    stored<&D::display_attached>("display_attached", "Attached", "display_attached", "", none,
                                 "Whether a display is plugged into it."),
    stored<&D::compute_mode>("compute_mode", "Compute mode", "compute_mode", "", none,
                             "Who may compute on it: Default, Exclusive_Process, Prohibited."),
    stored<&D::performance_state>("performance_state", "P-state", "pstate",
                                  "berth_device_performance_state", count,
                                  "0 is full speed, 15 the lowest."),
    stored<&D::memory_total>("memory_total_bytes", "Memory", "memory.total",
                             "berth_device_memory_total_bytes", bytes, "All of its memory."),
    stored<&D::memory_used>("memory_used_bytes", "Used", "memory.used",
                            "berth_device_memory_used_bytes", bytes,
                            "Memory allocated, without what the driver reserves for itself."),
    stored<&D::memory_free>("memory_free_bytes", "Free", "memory.free",
                            "berth_device_memory_free_bytes", bytes, "Memory nobody holds."),
    stored<&D::memory_reserved>("memory_reserved_bytes", "Reserved", "memory.reserved",
                                "berth_device_memory_reserved_bytes", bytes,
                                "Memory the driver keeps for itself."),
    {"memory_unexplained_bytes", "Unexplained", "", "berth_device_memory_unexplained_bytes", bytes,
     "Memory used less what its processes account for.", read_unexplained, nullptr},
    stored<&D::process_count>("process_count", "Processes", "", "berth_device_processes", count,
                              "Processes that the driver lists on it."),
    stored<&D::utilization_gpu>("utilization_gpu_percent", "Util", "utilization.gpu",
                                "berth_device_utilization_ratio", percent,
                                "Share of time in which any kernel ran."),
    stored<&D::utilization_memory>("utilization_memory_percent", "Mem util", "utilization.memory",
                                   "berth_device_memory_utilization_ratio", percent,
                                   "Share of time in which memory was read or written."),
    stored<&D::utilization_encoder>("utilization_encoder_percent", "Enc", "utilization.encoder",
                                    "berth_device_encoder_utilization_ratio", percent,
                                    "Load of the video encoder."),
    stored<&D::utilization_decoder>("utilization_decoder_percent", "Dec", "utilization.decoder",
                                    "berth_device_decoder_utilization_ratio", percent,
                                    "Load of the video decoder."),
    stored<&D::temperature>("temperature_celsius", "Temp", "temperature.gpu",
                            "berth_device_temperature_celsius", celsius, "Chip temperature."),
    stored<&D::temperature_memory>("temperature_memory_celsius", "Mem temp", "temperature.memory",
                                   "berth_device_memory_temperature_celsius", celsius,
                                   "Memory temperature."),
    stored<&D::temperature_slowdown>("temperature_slowdown_celsius", "Slows at", "",
                                     "berth_device_slowdown_temperature_celsius", celsius,
                                     "Temperature at which it slows itself down."),
    stored<&D::fan_speed>("fan_speed_percent", "Fan", "fan.speed", "berth_device_fan_speed_ratio",
                          percent, "Fan speed intended, of its maximum."),
    stored<&D::power_draw>("power_draw_milliwatts", "Power", "power.draw",
                           "berth_device_power_watts", milliwatts, "Power drawn by the board."),
    stored<&D::power_limit>("power_limit_milliwatts", "Limit", "enforced.power.limit",
                            "berth_device_power_limit_watts", milliwatts, "Power limit in force."),
    stored<&D::power_limit_default>("power_limit_default_milliwatts", "Default limit",
                                    "power.default_limit", "", milliwatts,
                                    "Power limit after a reboot."),
    stored<&D::energy>("energy_millijoules", "Energy", "", "berth_device_energy_joules_total",
                       millijoules, "Energy used since the driver was loaded."),
    stored<&D::clock_graphics>("clock_graphics_megahertz", "Clock", "clocks.current.graphics",
                               "berth_device_graphics_clock_hertz", megahertz, "Graphics clock."),
    stored<&D::clock_sm>("clock_sm_megahertz", "SM clock", "clocks.current.sm",
                         "berth_device_sm_clock_hertz", megahertz, "Clock of the SMs."),
    stored<&D::clock_memory>("clock_memory_megahertz", "Mem clock", "clocks.current.memory",
                             "berth_device_memory_clock_hertz", megahertz, "Memory clock."),
    stored<&D::clock_graphics_max>("clock_graphics_max_megahertz", "Max clock",
                                   "clocks.max.graphics", "", megahertz, "Highest graphics clock."),
    stored<&D::clock_sm_max>("clock_sm_max_megahertz", "Max SM clock", "clocks.max.sm", "",
                             megahertz, "Highest clock of the SMs."),
    stored<&D::clock_memory_max>("clock_memory_max_megahertz", "Max mem clock", "clocks.max.memory",
                                 "", megahertz, "Highest memory clock."),
    stored<&D::throttle_reasons>("throttle_reasons_mask", "Throttled", "", "", count,
                                 "NVML's bit mask of what holds the clocks back."),
    stored<&D::pcie_generation>("pcie_generation", "PCIe gen", "pcie.link.gen.gpucurrent",
                                "berth_device_pcie_generation", count,
                                "PCIe generation now; low while idle is normal."),
    stored<&D::pcie_generation_max>("pcie_generation_max", "PCIe gen max", "pcie.link.gen.max", "",
                                    count, "Best PCIe generation of card and slot together."),
    stored<&D::pcie_width>("pcie_width", "PCIe width", "pcie.link.width.current",
                           "berth_device_pcie_width", count, "PCIe lanes now."),
    stored<&D::pcie_width_max>("pcie_width_max", "PCIe width max", "pcie.link.width.max", "", count,
                               "Most PCIe lanes of card and slot together."),
    stored<&D::pcie_sent>("pcie_sent_bytes", "PCIe sent", "", "berth_device_pcie_sent_bytes_total",
                          bytes, "Bytes sent over PCIe since the driver was loaded."),
    stored<&D::pcie_received>("pcie_received_bytes", "PCIe received", "",
                              "berth_device_pcie_received_bytes_total", bytes,
                              "Bytes received over PCIe since the driver was loaded."),
    stored<&D::pcie_replays>("pcie_replays", "PCIe replays", "", "berth_device_pcie_replays_total",
                             count, "PCIe packets that had to be sent again."),
    stored<&D::ecc_corrected>("ecc_corrected_errors", "ECC corrected",
                              "ecc.errors.corrected.volatile.total",
                              "berth_device_ecc_corrected_errors_total", count,
                              "Memory errors corrected since the driver was loaded."),
    stored<&D::ecc_uncorrected>("ecc_uncorrected_errors", "ECC uncorrected",
                                "ecc.errors.uncorrected.volatile.total",
                                "berth_device_ecc_uncorrected_errors_total", count,
                                "Memory errors not corrected since the driver was loaded."),
});

// What people also type (nvidia-smi's own aliases).
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> aliases = {{
    {"gpu_name", "name"},
    {"gpu_uuid", "uuid"},
    {"gpu_serial", "serial"},
    {"gpu_bus_id", "pci_address"},
    {"clocks.gr", "clock_graphics_megahertz"},
    {"clocks.current.gr", "clock_graphics_megahertz"},
    {"clocks.sm", "clock_sm_megahertz"},
    {"clocks.mem", "clock_memory_megahertz"},
    {"clocks.max.gr", "clock_graphics_max_megahertz"},
    {"clocks.max.mem", "clock_memory_max_megahertz"},
    {"power.limit", "power_limit_milliwatts"},
    {"pcie.link.gen.current", "pcie_generation"},
    {"pcie.link.gen.gpumax", "pcie_generation_max"},
    {"cuda_core_count", "cuda_cores"},
}};

}  // namespace

std::span<const Field> fields() { return table; }

const Field* find_field(std::string_view name) {
  for (const auto& [alias, key] : aliases) {
    if (alias == name) name = key;
  }
  for (const Field& field : table) {
    if (field.key == name || (!field.smi.empty() && field.smi == name)) return &field;
  }
  return nullptr;
}

}  // namespace berth
