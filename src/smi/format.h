#pragma once
// Format: how one kind of value is written by nvidia-smi, in `-q` text, in XML and in CSV, and read
// back. Both directions stand side by side so that what is printed can be read again.

#include <optional>
#include <string>
#include <string_view>

#include "snapshot/cell.h"
#include "snapshot/device.h"

namespace berth::smi {

/// What stands where a reading has been deprecated, without brackets.
inline constexpr std::string_view deprecated_text = "Requested functionality has been deprecated";

enum class Format {
  text,
  number,
  memory,          // bytes, shown as whole MiB, rounded up
  kilobytes_rate,  // bytes per second, shown as KB/s of 1000
  percent,
  percent_exact,  // two decimals
  watts,
  megahertz,
  celsius,
  microseconds,
  milliseconds,
  seconds,
  span,  // milliseconds as 2.36 sec
  millivolts,
  enabled,  // Enabled, Disabled
  active,   // Active, Not Active
  yes_no,
  zero_one,    // 1, 0
  management,  // "Supported", which CSV calls Enabled
  on_off,
  lower_enabled,      // enabled, disabled
  valid,              // valid, invalid
  hex,                // 0x9
  hex_wide,           // 0xd52bae2e458244e2
  mask,               // 0x00000000000001FF
  pci_part,           // 0x0C; XML 0C
  pci_domain,         // 0x0000; XML 0000
  pci_class,          // 0x3; XML 3
  pci_number,         // "10de:2330" as 0x233010DE; XML without 0x
  bus_id,             // "00000000:3b:00.0" in capitals
  width,              // 16x; CSV 16
  words,              // "SWAP_32 CAS_32 " with a space behind each
  banks,              // 2560 bank(s); CSV 2560
  performance_state,  // P0
  date,               // milliseconds since 1970 as 2026/08/20 14:59:03.740
  calendar            // … as Thu Aug 20 14:59:03 2026
};

enum class Surface { text, xml, csv, csv_without_units };

/// What stands in [] behind the name in a CSV header; empty: nothing does.
[[nodiscard]] std::string_view unit_of(Format format);

[[nodiscard]] std::string shown(const Scalar& value, Format format, Surface surface);
/// What the driver says of a card whose readings fail.
enum class Failure { unknown_error, gpu_is_lost, requires_reset };
[[nodiscard]] Failure failure_on(const Device& device);

/// What nvidia-smi prints where there is no value: N/A, GPU is lost, Unknown Error, …
[[nodiscard]] std::string shown_absent(Absent why, Failure failure, Surface surface);

/// The cell that this text stands for: a value, or why there is none. Nothing: not of this format.
[[nodiscard]] std::optional<Cell> read_back(std::string_view text, Format format);
/// The reason that a text without a value gives. Nothing: it is no such text.
[[nodiscard]] std::optional<Absent> absent_from(std::string_view text);

/// Whole MiB, rounded up as nvidia-smi does: the parts of a total may add up to more.
[[nodiscard]] std::uint64_t mebibytes(std::uint64_t bytes);

}  // namespace berth::smi
