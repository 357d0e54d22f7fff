#include "smi/names.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/text.h"
#include "smi/calendar.h"
#include "smi/smi.h"
#include "snapshot/questions.h"

namespace berth::smi {

namespace {

bool matches(const Device& gpu, std::string_view typed) {
  if (const auto number = parse_unsigned(typed)) {
    if (gpu.index && std::uint64_t(*gpu.index) == *number) return true;
  }
  if (gpu.uuid.get() && equals_ignoring_case(*gpu.uuid.get(), typed)) return true;
  if (gpu.serial.get() && *gpu.serial.get() == typed && !typed.empty()) return true;
  if (!gpu.pci_address.get()) return false;
  // Domains may be written with four digits or left out.
  const std::string wanted = small_letters(typed);
  const std::string& address = *gpu.pci_address.get();
  return wanted == address ||
         (wanted.size() >= 5 && wanted.find(':') != std::string::npos && address.ends_with(wanted));
}

}  // namespace

std::vector<const Device*> gpus_of(const Snapshot& snapshot) {
  std::vector<const Device*> found;
  for (const Device& device : snapshot.devices) {
    if (device.kind == DeviceKind::nvidia_gpu && device.index) found.push_back(&device);
  }
  return found;
}

std::string_view letters_of(GpuUse use) {
  switch (use) {
    case GpuUse::compute:
      return "C";
    case GpuUse::graphics:
      return "G";
    case GpuUse::both:
      return "C+G";
    case GpuUse::mps:
      return "M+C";
  }
  return "C";
}

std::string process_name(const GpuProcess& process, const Snapshot& snapshot) {
  const HostProcess* known = find_process(process.pid, snapshot);
  if (known == nullptr) return "[Not Found]";
  if (known->command.get() && !known->command.get()->empty()) {
    return printable(known->command.get()->front());
  }
  if (known->executable_name.get()) return printable(*known->executable_name.get());
  return "[Not Found]";
}

std::uint64_t mig_index(const Device& instance, const Snapshot& snapshot) {
  std::uint64_t before = 0;
  for (const Device& other : snapshot.devices) {
    if (&other == &instance || other.id == instance.id) break;
    if (other.parent == instance.parent && other.kind == DeviceKind::nvidia_mig) ++before;
  }
  return before;
}

int generation_of(const Snapshot& snapshot) {
  constexpr int newest = 610;
  if (!snapshot.host.driver_version.get()) return newest;
  const std::string& version = *snapshot.host.driver_version.get();
  int major = 0;
  const auto parsed = std::from_chars(version.data(), version.data() + version.size(), major);
  return parsed.ec == std::errc() && major > 0 ? major : newest;
}

std::optional<std::vector<const Device*>> chosen(const Snapshot& snapshot,
                                                 const std::vector<std::string>& devices) {
  const auto gpus = gpus_of(snapshot);
  if (devices.empty()) return gpus;
  std::vector<const Device*> wanted;
  for (const std::string& typed : devices) {
    const auto found = std::ranges::find_if(
        gpus, [&](const Device* gpu) { return matches(*gpu, trimmed(typed)); });
    if (found == gpus.end()) return std::nullopt;
  }
  for (const Device* gpu : gpus) {
    const bool named = std::ranges::any_of(
        devices, [&](const std::string& typed) { return matches(*gpu, trimmed(typed)); });
    if (named) wanted.push_back(gpu);
  }
  return wanted;
}

}  // namespace berth::smi
