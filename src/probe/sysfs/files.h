#pragma once
// Readers of one-line files in /sys, as a source needs them: a value, or why there is none. Numbers
// become readings of a device here, with the kernel's units and what no device has.

#include <cstdint>
#include <optional>
#include <string>

#include "base/reading.h"
#include "base/result.h"
#include "base/units.h"

namespace berth::sysfs {

/// A file that is not there is no reading of this device; so is one that the driver has no answer
/// to.
[[nodiscard]] Absent why_absent(const Error& error);
/// Without the blanks around it; an empty file is absent.
[[nodiscard]] Reading<std::string> line_of(const std::string& path);
/// failed: it is no decimal number.
[[nodiscard]] Reading<std::uint64_t> number_of(const std::string& path);
/// "0x10de", as the bus tells a maker, a model and a class.
[[nodiscard]] std::optional<std::uint32_t> hex_of(const std::string& path);

/// What a number of such a file tells of a device. failed: no device has as much.
[[nodiscard]] Reading<Bytes> bytes_of(const Reading<std::uint64_t>& told);
[[nodiscard]] Reading<Milliwatts> power_of(const Reading<std::uint64_t>& microwatts);
[[nodiscard]] Reading<Celsius> heat_of(const Reading<std::uint64_t>& millidegrees);
/// Drivers tell hertz or megahertz.
[[nodiscard]] Reading<Megahertz> clock_of(const Reading<std::uint64_t>& told,
                                          std::uint64_t per_megahertz);

}  // namespace berth::sysfs
