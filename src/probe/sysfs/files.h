#pragma once
// Readers of one-line files in /sys, as a source needs them: a value, or why there is none.

#include <cstdint>
#include <optional>
#include <string>

#include "base/reading.h"
#include "base/result.h"

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

}  // namespace berth::sysfs
