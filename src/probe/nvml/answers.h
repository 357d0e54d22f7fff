#pragma once
// What NVML's answers mean to us. A return code is a reason for an absent reading, or a Problem. A
// Problem names what was attempted, what the driver said and what to do. Numbers that no device can
// have are none.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/reading.h"
#include "base/sentence.h"
#include "base/units.h"
#include "probe/nvml/abi.h"
#include "snapshot/snapshot.h"

namespace berth::nvml {

/// The vendor's own words for a code, "GPU is lost"; "error 77" where unknown.
[[nodiscard]] std::string vendor_words(Return code);
/// The same with its number, "GPU is lost (15)".
[[nodiscard]] std::string words(Return code);

/// Why a reading is absent that was answered with `code` (not success).
[[nodiscard]] Absent why_absent(Return code);
/// The same for what newer drivers alone know, such as a field's number. An older one answers that
/// the argument is invalid.
[[nodiscard]] Absent why_absent_newcomer(Return code);

/// The device or the library will never answer this differently: need not be asked again.
[[nodiscard]] bool is_refused_for_good(Return code);

/// The library itself has to be initialised again: the driver was reloaded under it.
[[nodiscard]] bool wants_initialising(Return code);

/// Says more behind its message.
void add(Problem& problem, const Sentence& more);

/// Why the whole source is silent. `attempted` as in "initialising NVML".
/// `module_version`: the kernel module's, by /proc/driver/nvidia/version, where readable.
[[nodiscard]] Problem source_problem(Return code, const Sentence& attempted,
                                     const std::optional<std::string>& module_version);

/// Why a device must not be used. Only some codes say so: lost, reset required, blocked by the
/// system, no power. Nothing for the others.
[[nodiscard]] std::optional<Problem> device_problem(Return code, const DeviceId& device,
                                                    std::string_view shown_as);

/// Some of what was asked of the device was not answered: by what each call said.
[[nodiscard]] Problem failures_problem(const std::vector<std::string>& failures,
                                       const DeviceId& device, std::string_view shown);

/// Its processes were not told, or not all of them.
[[nodiscard]] Problem processes_problem(Return code, bool is_any_listed, const DeviceId& device,
                                        std::string_view shown);

/// The version of the loaded kernel module; nothing: not loaded, or not readable.
[[nodiscard]] std::optional<std::string> kernel_module_version(const std::string& proc);

/// All bits of 32 or of 64 set: how NVML says of a number that there is none. A counter that stands
/// at just that for one look (4 GiB less a byte) is unknown for that look.
constexpr bool is_unavailable(std::uint64_t number) {
  return number == 0xFFFFFFFF || number == ~std::uint64_t{0};
}

/// What a number can be, both ends included. Below it the driver says nothing, beyond it garbage.
struct Range {
  std::uint64_t least;
  std::uint64_t most;
};
inline constexpr Range pcie_generations{1, 15};           // four bits of the link's registers
inline constexpr Range pcie_lanes{1, 32};                 // PCIe has none wider
inline constexpr Range device_minors{0, (1 << 20) - 1};   // Linux has 20 bits for them
inline constexpr Range memory_bus_bits{1, 1 << 16};       // a B200 has 8192
inline constexpr Range core_counts{1, 1'000'000};         // the largest card has 24064
inline constexpr Range multiprocessor_counts{1, 10'000};  // … and 188
inline constexpr Range error_counts{0, 0xFFFFFFFE};       // a memory with more has no sound word
inline constexpr Range throttle_masks{0, 0xFFFFFFFE};     // nine bits have a meaning

// What no device has: an answer beyond is the driver's mistake.
inline constexpr std::int64_t most_degrees = 250;  // silicon is long dead
inline constexpr std::int64_t most_milliwatts = 100'000'000;
inline constexpr std::int64_t most_megahertz = 100'000;
inline constexpr std::int64_t most_percent = 200;  // fans may exceed 100

template <class T>
constexpr bool is_possible(T) {
  return true;
}
constexpr bool is_possible(Celsius degrees) {
  return degrees.count() <= most_degrees && degrees.count() >= -most_degrees;
}
constexpr bool is_possible(Milliwatts power) {
  return power.count() <= static_cast<std::uint64_t>(most_milliwatts);
}
constexpr bool is_possible(Megahertz clock) {
  return clock.count() <= static_cast<std::uint64_t>(most_megahertz);
}
constexpr bool is_possible(Percent share) {
  return share.count() <= static_cast<double>(most_percent);
}

}  // namespace berth::nvml
