#include "diagnose/doctor/examined.h"

#include <algorithm>
#include <ranges>

#include "base/text.h"

namespace berth::doctor {

namespace {

std::string number_of(const Device& device) {
  if (!device.index) {
    return device.pci_address.get() ? *device.pci_address.get() : device.id.text();
  }
  const std::string index = std::to_string(*device.index);
  // Its card's number is every instance's of that card.
  if (!device.partition) return index;
  return index + ":" + std::to_string(device.partition->gpu_instance) + "/" +
         std::to_string(device.partition->compute_instance);
}

}  // namespace

std::vector<const Device*> working_gpus(const Examined& host) {
  std::vector<const Device*> gpus;
  for (const Device& device : host.snapshot.devices) {
    if (device.kind == DeviceKind::nvidia_gpu && device.index && !device.lost) {
      gpus.push_back(&device);
    }
  }
  return gpus;
}

const Problem* unseen_because(const Examined& host) {
  for (const Problem& problem : host.snapshot.problems) {
    if (problem.source == "probe" && !problem.device && host.snapshot.devices.empty()) {
      return &problem;
    }
  }
  return nullptr;
}

bool driver_works(const Examined& host) { return !working_gpus(host).empty(); }

bool is_elsewhere(const Examined& host) { return !host.facts.kernel; }

std::vector<const Device*> devices_of(Runtime runtime, const Examined& host) {
  std::vector<const Device*> found;
  for (const Device& device : host.snapshot.devices) {
    if (is_of(runtime, device) && !is_only_presence(device)) found.push_back(&device);
  }
  return found;
}

std::optional<Runtime> other_runtime_of(const FrameworkBuild& build) {
  if (build.is_rocm) return Runtime::rocm;
  for (const DeviceKindFacts& facts : device_kinds()) {
    const std::string_view mark = facts.torch.build_mark;
    if (!mark.empty() && build.version.find(mark) != std::string::npos) return facts.runtime;
  }
  return std::nullopt;
}

bool is_container(const Examined& host) {
  const auto& container = host.facts.container;
  return container.get() && !container.get()->empty();
}

bool hides_all(const Examined& host) {
  return host.visible && host.visible->devices.empty() && host.visible->unclear.empty();
}

std::string names_of(const std::vector<const Device*>& devices) {
  return joined(devices, ", ", [](const Device* device) { return number_of(*device); });
}

std::string index_list(const std::vector<const Device*>& devices) {
  const auto has_index = [](const Device* device) { return device->index.has_value(); };
  return joined(devices | std::views::filter(has_index), ",",
                [](const Device* device) { return *device->index; });
}

// "GPU-ab…" and "ab…" are the same device.
const Device* device_of(const CudaDevice& cuda, const Snapshot& snapshot) {
  for (const Device& device : snapshot.devices) {
    const auto& uuid = device.uuid.get();
    if (uuid && !cuda.uuid.empty() && uuid->ends_with(cuda.uuid)) return &device;
  }
  return nullptr;
}

const Problem* nvml_problem(const Examined& host) {
  for (const Problem& problem : host.snapshot.problems) {
    if (problem.source == "nvml" && !problem.device) return &problem;
  }
  return nullptr;
}

bool module_is_loaded(const Examined& host) {
  return host.facts.kernel && host.facts.kernel->module_version.get().has_value();
}

bool has_device_file(const Examined& host, std::string_view path) {
  return std::ranges::find(host.facts.device_files, path, &DeviceFile::path) !=
         host.facts.device_files.end();
}

bool is_of_driver(const FoundLibrary& library) {
  return library.name == "libcuda" || library.name == "libnvidia-ml";
}

}  // namespace berth::doctor
