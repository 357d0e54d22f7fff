#include "diagnose/doctor/driver_parts.h"

#include <algorithm>

namespace berth::doctor {

const Problem* nvml_problem(const Examined& host) {
  for (const Problem& problem : host.snapshot.problems) {
    if (problem.source == "nvml" && !problem.device) return &problem;
  }
  return nullptr;
}

bool module_is_loaded(const Examined& host) {
  return host.world.kernel && host.world.kernel->module_version.get().has_value();
}

bool has_device_file(const Examined& host, std::string_view path) {
  return std::ranges::find(host.world.device_files, path, &DeviceFile::path) !=
         host.world.device_files.end();
}

bool is_of_driver(const FoundLibrary& library) {
  return library.name == "libcuda" || library.name == "libnvidia-ml";
}

}  // namespace berth::doctor
