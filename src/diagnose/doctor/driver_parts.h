#pragma once
// The driver's parts, as several rules ask for them: its library, its kernel module, its device
// files.

#include <string_view>

#include "diagnose/doctor/examined.h"

namespace berth::doctor {

/// Why NVIDIA's library could not be asked at all; null: it could.
[[nodiscard]] const Problem* nvml_problem(const Examined& host);
/// False as well where the kernel was not looked at.
[[nodiscard]] bool module_is_loaded(const Examined& host);
[[nodiscard]] bool has_device_file(const Examined& host, std::string_view path);
/// Whether it is one that the driver brings: of its version, or a stub of it.
[[nodiscard]] bool is_of_driver(const FoundLibrary& library);

}  // namespace berth::doctor
