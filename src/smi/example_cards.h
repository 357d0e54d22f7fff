#pragma once
// Two machines for the tests of this folder, with the numbers of real ones. One is a workstation
// with a desktop on its card, one has a card divided by MIG.

#include <string>
#include <utility>
#include <vector>

#include "snapshot/snapshot.h"

namespace berth::smi::example {

using namespace berth::literals;

inline void add_process(Snapshot& host, const Device& device, pid_t pid, GpuUse use, Bytes memory,
                        std::string name) {
  host.gpu_processes.push_back({.device = device.id,
                                .pid = pid,
                                .use = use,
                                .memory = memory,
                                .partition = device.partition});
  HostProcess process;
  process.id = {.pid = pid, .start_ticks = 1};
  process.user = std::string("alice");
  process.command = std::vector<std::string>{std::move(name)};
  host.processes.push_back(std::move(process));
}

inline Device card(std::string id, std::string name, std::string address) {
  Device device;
  device.id = DeviceId(id);
  device.uuid = std::move(id);
  device.kind = DeviceKind::nvidia_gpu;
  device.index = 0;
  device.name = std::move(name);
  device.pci_address = std::move(address);
  device.compute_mode = std::string("Default");
  return device;
}

inline Snapshot workstation() {
  Snapshot host;
  host.taken = WallTime{1'782'296'794'000};  // 2026-06-24 10:26:34 UTC
  host.host.software_of(Runtime::cuda).driver = std::string("595.71.05");
  host.host.software_of(Runtime::cuda).library = std::string("13.595.71.05");
  host.host.software_of(Runtime::cuda).runtime = std::string("13.2");
  Device device = card("GPU-00000000-0000-0000-0000-000000000000", "NVIDIA GeForce RTX 2080 SUPER",
                       "00000000:0c:00.0");
  device.persistence_mode = false;
  device.display_active = true;
  device.fan_speed = Percent{37};
  device.temperature = 40_celsius;
  device.performance_state = std::uint64_t{8};
  device.power_draw = Milliwatts{37'620};
  device.power_limit = 250_watts;
  device.memory_used = Bytes{(std::uint64_t{213} << 20) + 1};
  device.memory_total = 8_GiB;
  device.utilization_gpu = 0_percent;
  device.utilization_memory = 10_percent;
  device.utilization_encoder = 0_percent;
  device.utilization_decoder = 0_percent;
  device.clock_memory = 405_MHz;
  device.clock_sm = 300_MHz;
  device.temperature_memory = Absent::unsupported;
  device.ecc_mode = device.mig_mode = Absent::unsupported;
  device.ecc_corrected = device.ecc_uncorrected = Absent::unsupported;
  device.numa_node = std::uint64_t{0};
  device.details.set(Detail::cpu_affinity, Reading<std::string>(std::string("0-23")));
  host.devices.push_back(std::move(device));
  const Device& gpu = host.devices.front();
  add_process(host, gpu, 1696, GpuUse::graphics, 176_MiB, "/usr/bin/gnome-shell");
  add_process(host, gpu, 4584, GpuUse::graphics, 3_MiB, "/usr/bin/Xwayland");
  add_process(host, gpu, 190'709, GpuUse::compute, 2492_MiB,
              "/usr/local/lib/ollama/runners/cuda_v12/ollama_llama_server_rocm");
  return host;
}

inline Device instance(std::uint32_t gpu_instance, std::string profile, Bytes used, Bytes total,
                       Bytes bar1, std::uint64_t multiprocessors, std::uint64_t engines) {
  Device device;
  device.id = DeviceId("MIG-0000000" + std::to_string(gpu_instance));
  device.uuid = device.id.text();
  device.kind = DeviceKind::nvidia_mig;
  device.parent = DeviceId("GPU-0");
  device.partition = Partition{gpu_instance, 0};
  device.index = 0;
  device.name = "NVIDIA H100 80GB HBM3 MIG " + std::move(profile);
  device.memory_used = used;
  device.memory_total = total;
  device.multiprocessors = multiprocessors;
  device.ecc_uncorrected = std::uint64_t{0};
  const auto number = [](std::uint64_t value) { return Reading<std::uint64_t>(value); };
  device.details.set(Detail::mig_copy_engines, number(engines));
  device.details.set(Detail::mig_encoders, number(0));
  device.details.set(Detail::mig_decoders, number(engines));
  device.details.set(Detail::mig_ofa_engines, number(0));
  device.details.set(Detail::mig_jpeg_engines, number(engines));
  device.details.set(Detail::bar1_used, Reading<Bytes>(Bytes{0}));
  device.details.set(Detail::bar1_total, Reading<Bytes>(bar1));
  return device;
}

inline Snapshot divided_card() {
  Snapshot host;
  host.taken = WallTime{1'784'019'643'000};  // 2026-07-14 09:00:43 UTC
  host.host.software_of(Runtime::cuda).driver = std::string("590.48.01");
  host.host.software_of(Runtime::cuda).runtime = std::string("13.1");
  Device device = card("GPU-0", "NVIDIA H100 80GB HBM3", "00000000:00:09.0");
  device.persistence_mode = true;
  device.display_active = false;
  device.fan_speed = Absent::unsupported;
  device.temperature = 52_celsius;
  device.performance_state = std::uint64_t{0};
  device.power_draw = Milliwatts{432'210};
  device.power_limit = 700_watts;
  device.memory_used = 11125_MiB;
  device.memory_total = 81559_MiB;
  device.utilization_gpu = Absent::unsupported;
  device.mig_mode = true;
  device.ecc_mode = true;
  device.ecc_uncorrected = std::uint64_t{0};
  host.devices.push_back(std::move(device));
  host.devices.push_back(instance(2, "3g.40gb", 11091_MiB, 40448_MiB, 24739_MiB, 60, 3));
  host.devices.push_back(instance(10, "1g.10gb", 9_MiB, 9984_MiB, 6184_MiB, 16, 1));
  add_process(host, host.devices[1], 21'180, GpuUse::compute, 2296_MiB, "/root/tools/memhog");
  add_process(host, host.devices[2], 21'198, GpuUse::compute, 7484_MiB, "./gpu_burn");
  return host;
}

}  // namespace berth::smi::example
