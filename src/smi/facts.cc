#include "smi/facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "snapshot/details.h"
#include "snapshot/questions.h"

namespace berth::smi {

namespace {

bool is_card(const Device& device) {
  return device.kind == DeviceKind::nvidia_gpu && device.index.has_value();
}

/// "0000:3b:00.0", "3B:00.0" and "00000000:3B:00.0" are one address.
std::string full_address(std::string_view text) {
  std::string address = small_letters(text);
  const auto colons = std::count(address.begin(), address.end(), ':');
  if (colons == 1) address = "00000000:" + address;
  const std::size_t domain = address.find(':');
  if (domain != std::string::npos && domain < 8) address.insert(0, 8 - domain, '0');
  return address;
}

bool is_called(const Device& device, std::string_view name) {
  if (const auto number = parse_unsigned(name)) {
    if (std::cmp_equal(*number, *device.index)) return true;
    return device.serial.get() && *device.serial.get() == name;
  }
  if (device.uuid.get() && equals_ignoring_case(*device.uuid.get(), name)) return true;
  return device.pci_address.get() && full_address(name) == full_address(*device.pci_address.get());
}

}  // namespace

std::optional<std::vector<const Device*>> chosen(const Snapshot& snapshot,
                                                 const std::vector<std::string>& devices) {
  std::vector<const Device*> found;
  std::vector<bool> met(devices.size(), false);
  for (const Device& device : snapshot.devices) {
    if (!is_card(device)) continue;
    bool wanted = devices.empty();
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (!is_called(device, devices[i])) continue;
      wanted = met[i] = true;
    }
    if (wanted) found.push_back(&device);
  }
  if (std::find(met.begin(), met.end(), false) != met.end()) return std::nullopt;
  return found;
}

std::vector<const Device*> gpus(const Snapshot& snapshot, const std::vector<std::string>& devices) {
  return chosen(snapshot, devices).value_or(std::vector<const Device*>{});
}

void add_rates(Snapshot& now, const Snapshot& before) {
  const std::int64_t elapsed_ms = now.taken.unix_ms - before.taken.unix_ms;
  const auto add = [&](Device& device, Detail rate, const Reading<Bytes>& to,
                       const Reading<Bytes>& from) {
    if (device.details.get<BytesPerSecond>(rate).get() || !to.get() || !from.get()) return;
    const auto moved = minus(*to.get(), *from.get());
    if (!moved || elapsed_ms <= 0) return;  // it has wrapped, or the clock was set
    constexpr double thousand = 1000;
    const double seconds = static_cast<double>(elapsed_ms) / thousand;
    device.details.set(rate, Reading<BytesPerSecond>(BytesPerSecond{static_cast<std::uint64_t>(
                                 static_cast<double>(moved->count()) / seconds)}));
  };
  for (Device& device : now.devices) {
    for (const Device& earlier : before.devices) {
      if (earlier.id != device.id) continue;
      add(device, Detail::pcie_sent_rate, device.pcie_sent, earlier.pcie_sent);
      add(device, Detail::pcie_received_rate, device.pcie_received, earlier.pcie_received);
    }
  }
}

std::vector<const Device*> instances_of(const Device& gpu, const Snapshot& snapshot) {
  std::vector<const Device*> instances;
  for (const Device& device : snapshot.devices) {
    if (device.parent == gpu.id) instances.push_back(&device);
  }
  return instances;
}

bool is_process_list_unknown(const Device& gpu, const Snapshot& snapshot) {
  return is_list_unread(gpu) && !gpu.lost && gpu.unusable_because.empty() &&
         processes_on(gpu.id, snapshot).empty();
}

std::vector<const GpuProcess*> processes_by_pid(const Device& gpu, const Snapshot& snapshot) {
  auto listed = processes_on(gpu.id, snapshot);
  // Dumps of Windows, where alone a card has a driver model, list them in no order.
  if (gpu.details.get<std::string>(Detail::driver_model).get()) return listed;
  std::ranges::stable_sort(listed, {}, [](const GpuProcess* one) { return one->pid; });
  return listed;
}

std::string process_name(const GpuProcess& process, const Snapshot& snapshot) {
  for (const HostProcess& candidate : snapshot.processes) {
    if (candidate.id.pid != process.pid) continue;
    const auto& command = candidate.command.get();
    if (command && !command->empty()) return printable(command->front());
    if (candidate.command.why() == Absent::no_permission) return "[Insufficient Permissions]";
    if (candidate.executable_name.get()) return printable(*candidate.executable_name.get());
  }
  return "[Not Found]";
}

std::string_view absent_cell(Absent why, const Device& device) {
  if (why == Absent::failed) return "ERR!";
  return device.lost && why == Absent::not_sampled ? "ERR!" : "N/A";
}

std::string bus_id(const Device& device) { return capitals(device.pci_address.get().value_or("")); }

std::uint64_t mib(Bytes bytes) {
  constexpr std::uint64_t one = std::uint64_t{1} << 20;
  return bytes.count() / one + (bytes.count() % one == 0 ? 0 : 1);
}

bool is_lost_without_handle(const Device& gpu) { return gpu.lost && !gpu.uuid.get(); }

std::string list_line(const Device& gpu) {
  if (!is_lost_without_handle(gpu)) {
    return fmt::format(
        "GPU {}: {} (UUID: {})\n", gpu.index.value_or(0),
        printable(gpu.name.get().value_or(std::string(absent_cell(gpu.name.why(), gpu)))),
        gpu.uuid.get().value_or("N/A"));
  }
  std::string address = bus_id(gpu);
  if (address.size() > 4) address.erase(0, 4);
  if (!address.empty()) address += ": ";
  return fmt::format(
      "Unable to determine the device handle for GPU{}: {}GPU is lost.  Reboot the system to "
      "recover this GPU\n",
      gpu.index.value_or(0), address);
}

}  // namespace berth::smi
