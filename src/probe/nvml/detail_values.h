#pragma once
// What a raw number of the driver means as a detail: its unit, or the word for it. An impossible
// number is `failed`: a share above 100, a yes-or-no of 7, an enumerator nobody named. All bits set
// is `unsupported`: the driver has no number.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "probe/nvml/abi_details.h"
#include "snapshot/cell.h"

namespace berth::nvml {

/// How a number is meant. Those with "of_" are counted in that unit by the driver.
enum class As {
  number,
  yes_or_no,
  any_yes,  // whatever is not 0: "zero or non-zero" in the header
  percent,  // at most 100
  percent_over_100,
  performance_state,  // 0 to 15; 32 is unknown
  pcie_generation,
  celsius,
  celsius_limit,  // above 0
  milliwatts,
  of_watts,  // as milliwatts
  megahertz,
  megahertz_limit,  // above 0
  bytes,
  microseconds,
  of_nanoseconds,  // as microseconds
  milliseconds,
  seconds,
  addressing_mode,
  driver_model,
  operation_mode,
  virtualization_mode,
  host_vgpu_mode,
  mode_word,       // "Enabled", "Disabled"
  supported_word,  // "Supported", "Not Supported"
  recovery_action,
  peer_type,
  fabric_state,
  fabric_summary,
  fabric_bandwidth,
  fabric_route,  // of all health bits that are "true" or "false"
  fabric_configuration,
  bridge_chip,
  pcie_atomics,
};

/// `number` as a detail. Signed, as temperatures may be.
[[nodiscard]] Cell cell_as(As as, std::int64_t number);
/// The same for a double: what has no whole numbers keeps its fraction.
[[nodiscard]] Cell cell_as_fraction(As as, double number);
/// A count of 64 bits, which is too large for the others.
[[nodiscard]] Cell cell_of_count(std::uint64_t number);

/// A field's value in its own type; nothing: a type that we do not know.
[[nodiscard]] std::optional<std::int64_t> whole_of(const FieldValue& field);

/// A field of nvmlDeviceGetFieldValues as a detail, or why it is absent.
[[nodiscard]] Cell cell_of_field(As as, const FieldValue& field);

/// The driver's text; an empty one is `unsupported`.
[[nodiscard]] Cell cell_of_text(std::string_view text);

/// A calendar time in milliseconds since 1970. nvml.h names no unit: seconds, milliseconds and
/// microseconds of this century differ enough to be told apart. -1: none of them.
[[nodiscard]] std::int64_t unix_ms_of(std::uint64_t time);

/// "1f2e3d4c-…" of 16 bytes.
[[nodiscard]] std::string uuid_text(const std::uint8_t (&bytes)[16]);

}  // namespace berth::nvml
