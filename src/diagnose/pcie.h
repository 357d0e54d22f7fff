#pragma once
// What a PCI Express link carries.

#include <cstdint>
#include <optional>

namespace berth {

/// Bytes per second in one direction, after the line code and before any protocol. Nothing: a
/// generation or a width that there is not.
/// Source  PCI Express base specifications 1.0 to 6.0.
[[nodiscard]] std::optional<double> pcie_bytes_per_second(std::uint64_t generation,
                                                          std::uint64_t width);

}  // namespace berth
