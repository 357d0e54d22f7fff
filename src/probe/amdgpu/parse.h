#pragma once
// Readers of the amdgpu and KFD drivers' texts in /sys. Pure.
//
// Sources: Documentation/gpu/amdgpu, amdgpu_pm.c, amdgpu_ras.c and kfd_topology.c of Linux 6.15.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace berth::amdgpu {

/// "key value" lines; what is no number is left out.
using Properties = std::map<std::string, std::uint64_t, std::less<>>;
[[nodiscard]] Properties parse_properties(std::string_view text);

/// 0 where it is not told.
[[nodiscard]] std::uint64_t value_of(const Properties& properties, std::string_view key);

/// Where a node of the KFD sits. Of a partition the function's bits are its number: it has no
/// function of its own.
struct NodePlace {
  std::string card;  // as Device::pci_address, function 0
  std::uint32_t function = 0;
};
[[nodiscard]] NodePlace place_of(const Properties& node);

/// "ue: 0\nce: 3\n", of one block of the chip.
struct ErrorCounts {
  std::uint64_t uncorrected = 0;
  std::uint64_t corrected = 0;
};
[[nodiscard]] std::optional<ErrorCounts> parse_error_counts(std::string_view text);

/// "0x00000001 : 0x00001000 : R\n", a page of memory a line: R it is kept from use, P it will be
/// with the next reset, F that did not succeed.
struct BadPages {
  std::uint64_t retired = 0;
  std::uint64_t pending = 0;
};
[[nodiscard]] BadPages parse_bad_pages(std::string_view text);

/// The highest of "0: 500Mhz\n1: 2304Mhz *\n". Levels may be out of order, and two or three.
[[nodiscard]] std::optional<Megahertz> highest_level(std::string_view text);

/// "gfx942" of 90402: major, minor and step in decimal, of which the names have the last two in
/// hexadecimal.
[[nodiscard]] std::string chip_name(std::uint64_t gfx_target_version);

}  // namespace berth::amdgpu
