#pragma once
// GPU instances of a divided card that hold no compute instance: parts of it that no program sees.

#include <string>

#include "diagnose/doctor/examined.h"

namespace berth::doctor {

/// Their numbers as an argument of -gi, "1,2"; by the kernel and by NVML. Empty: there is none, or
/// it cannot be told: in a container the kernel's folders may be shown in part.
[[nodiscard]] std::string hollow_instances_of(const Device& device, const Examined& host);

}  // namespace berth::doctor
