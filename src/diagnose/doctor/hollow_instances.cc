#include "diagnose/doctor/hollow_instances.h"

#include <algorithm>

namespace berth::doctor {

std::string hollow_instances_of(const Device& device, const Examined& host) {
  const auto& minor = device.minor_number.get();
  if (!host.world.kernel || !minor || is_container(host)) return "";
  std::string numbers;
  for (const HollowInstance& hollow : host.world.kernel->hollow_instances) {
    const bool is_listed = std::ranges::any_of(host.snapshot.devices, [&](const Device& other) {
      return other.parent == device.id && other.partition &&
             other.partition->gpu_instance == hollow.gpu_instance;
    });
    if (hollow.minor_number != *minor || is_listed) continue;
    numbers += (numbers.empty() ? "" : ",") + std::to_string(hollow.gpu_instance);
  }
  return numbers;
}

}  // namespace berth::doctor
