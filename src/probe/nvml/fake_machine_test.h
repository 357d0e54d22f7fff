#pragma once
// A SIMULATED server behind the fake libnvidia-ml.so.1 (tests/fakes/nvml), for the tests that look
// at it through the real ABI.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <map>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/temporary_directory.h"
#include "probe/nvml/nvml_probe.h"
#include "probe/nvml/whole_look_test.h"
#include "snapshot/fields.h"
#include "snapshot/json.h"

namespace berth::nvml {

using namespace berth::literals;

inline constexpr WallTime now{1'760'000'000'000};

inline std::string library(const std::string& list) {
  return std::string(BERTH_FAKE_NVML_LIBRARIES) + "/" + list + "/libnvidia-ml.so.1";
}

/// SIMULATED, with the numbers of the capture of an H100 80GB HBM3 under driver 590.48.01 where it
/// has them: every reading that NVML can give is present.
inline Device h100(int index) {
  Device device;
  device.kind = DeviceKind::nvidia_gpu;
  device.index = index;
  device.name = std::string("NVIDIA H100 80GB HBM3");
  device.uuid = "GPU-00000000-0000-0000-0000-00000000000" + std::to_string(index);
  device.id = DeviceId(*device.uuid.get());
  device.pci_address = "00000000:" + std::to_string(17 + index) + ":00.0";
  device.pci_id = std::string("10de:2330");
  device.kernel_driver = std::string("nvidia");
  device.serial = std::string("1650000000000");
  device.vbios_version = std::string("96.00.CF.00.01");
  device.minor_number = std::uint64_t{7} - static_cast<std::uint64_t>(index);
  device.architecture = std::string("Hopper");
  device.compute_capability = ComputeCapability{9, 0};
  device.cuda_cores = std::uint64_t{16896};
  device.multiprocessors = std::uint64_t{132};
  device.memory_bus_width = std::uint64_t{5120};
  device.memory_bandwidth = BytesPerSecond(3'352'320'000'000);
  device.numa_node = std::uint64_t{1};
  device.brand = std::string("NVIDIA");
  device.persistence_mode = true;
  device.mig_mode = device.display_active = device.display_attached = false;
  device.ecc_mode = true;
  device.compute_mode = std::string("Default");
  device.performance_state = std::uint64_t{0};
  device.memory_total = 81559_MiB;
  device.memory_used = 1024_MiB;
  device.memory_free = 79900_MiB;
  device.memory_reserved = 635_MiB;
  device.utilization_gpu = 42_percent;
  device.utilization_memory = 7_percent;
  device.utilization_encoder = device.utilization_decoder = 0_percent;
  device.utilization_history = std::vector<UtilizationSample>{{Milliseconds(100), Percent(42)},
                                                              {Milliseconds(300), Percent(40)}};
  device.temperature = 31_celsius;
  device.temperature_memory = 40_celsius;
  device.temperature_slowdown = 89_celsius;
  device.fan_speed = Absent::unsupported;
  device.power_draw = Milliwatts(69850);
  device.power_limit = device.power_limit_default = 700_watts;
  device.energy = Millijoules(123'456'789);
  device.clock_graphics = device.clock_sm = 345_MHz;
  device.clock_memory = device.clock_memory_max = 2619_MHz;
  device.clock_graphics_max = device.clock_sm_max = 1980_MHz;
  device.throttle_reasons = ClockReasons(1);
  device.pcie_generation = device.pcie_generation_max = std::uint64_t{5};
  device.pcie_width = device.pcie_width_max = std::uint64_t{16};
  device.pcie_sent = Bytes(111);
  device.pcie_received = Bytes(222);
  device.pcie_replays = std::uint64_t{0};
  device.ecc_corrected = device.ecc_uncorrected = std::uint64_t{0};
  device.process_count = std::uint64_t{1};
  return device;
}

inline Snapshot server() {
  Snapshot host{.taken = now};
  host.host.software_of(Runtime::cuda).driver = std::string("590.48.01");
  host.host.software_of(Runtime::cuda).library = std::string("13.590.48.01");
  host.host.software_of(Runtime::cuda).runtime = std::string("13.1");
  host.host.excluded_devices =
      std::vector<ExcludedDevice>{{"00000000:4b:00.0", "GPU-b300b300-0000-0000-0000-000000000003"}};
  for (int i = 0; i < 3; ++i) {
    host.devices.push_back(h100(i));
    host.gpu_processes.push_back({.device = host.devices.back().id,
                                  .pid = 1000 + i,
                                  .use = GpuUse::compute,
                                  .memory = 1000_MiB,
                                  .utilization_sm = Percent(40),
                                  .utilization_memory = Percent(11),
                                  .utilization_encoder = Percent(0),
                                  .utilization_decoder = Percent(3)});
  }
  return host;
}

/// A value for a detail: another for each, in its unit's range, and in the driver's granularity.
/// Words are ones that the driver can mean.
inline Cell example_of(Detail detail) {
  static const std::map<Detail, Scalar> chosen = {
      {Detail::pci_subsystem_id, std::string("10de:16c1")},
      {Detail::pdi, std::uint64_t{0xD52BAE2E458244E2}},
      {Detail::platform_fabric_guid, std::uint64_t{0xFEDCBA9876543210}},
      {Detail::platform_chassis_serial, std::string("1822725100200")},
      {Detail::platform_peer_type, std::string("Switch Connected")},
      {Detail::inforom_flushed, std::int64_t{1'750'000'000'000}},
      {Detail::bridge_chip_type, std::string("BRO4")},
      {Detail::bridge_chip_firmware, std::string("77")},
      {Detail::display_mode, false},
      {Detail::addressing_mode, std::string("HMM")},
      {Detail::driver_model, std::string("TCC")},
      {Detail::driver_model_pending, std::string("MCDM")},
      {Detail::operation_mode, std::string("Compute")},
      {Detail::operation_mode_pending, std::string("Low Double Precision")},
      {Detail::virtualization_mode, std::string("Pass-Through")},
      {Detail::host_vgpu_mode, std::string("SR-IOV")},
      {Detail::vgpu_heterogeneous_mode, std::string("Enabled")},
      {Detail::vgpu_mig_timeslicing_mode, std::string("Enabled")},
      {Detail::power_management, std::string("Supported")},
      {Detail::recovery_action, std::string("Drain and Reset")},
      {Detail::power_state, std::uint64_t{2}},
      {Detail::pcie_generation_device_max, std::uint64_t{6}},
      {Detail::pcie_sent_rate, std::uint64_t{0}},      // its counter stands still
      {Detail::pcie_received_rate, std::uint64_t{0}},  // likewise
      {Detail::pcie_atomics_outbound, std::string("FETCHADD_32 CAS_64")},
      {Detail::pcie_atomics_inbound, std::string("SWAP_32 CAS_128")},
      {Detail::power_profiles_requested, std::string("0, 3, 200")},
      {Detail::power_profiles_enforced, std::string("3")},
      {Detail::fabric_state, std::string("Completed")},
      {Detail::fabric_status, std::string("Success")},
      {Detail::fabric_cluster, std::string("01020304-0506-0708-090a-0b0c0d0e0f10")},
      {Detail::fabric_health_summary, std::string("Limited Capacity")},
      {Detail::fabric_health_bandwidth, std::string("Degraded")},
      {Detail::fabric_health_route_recovery, std::string("True")},
      {Detail::fabric_health_route_unhealthy, std::string("False")},
      {Detail::fabric_health_access_timeout, std::string("True")},
      {Detail::fabric_health_configuration, std::string("Invalid Location")},
      {Detail::fabric_health_partition, std::string("False")},
      {Detail::cpu_affinity, std::string("0-23,48-71")},
      {Detail::nvlink_count, std::uint64_t{2}},     // as in Lists::nvlinks
      {Detail::nvlink_active, std::uint64_t{1}},    // likewise
      {Detail::window_span, std::int64_t{10'000}},  // from look to look
      // The counts stand still from one look to the next.
      {Detail::window_throttled_power_cap, std::uint64_t{0}},
      {Detail::window_throttled_sync_boost, std::uint64_t{0}},
      {Detail::window_throttled_software_thermal, std::uint64_t{0}},
      {Detail::window_throttled_hardware_thermal, std::uint64_t{0}},
      {Detail::window_throttled_power_brake, std::uint64_t{0}},
      {Detail::window_nvlink_flit_errors, std::uint64_t{0}},
      {Detail::window_nvlink_data_errors, std::uint64_t{0}},
      {Detail::window_nvlink_replays, std::uint64_t{0}},
      {Detail::window_nvlink_recoveries, std::uint64_t{0}},
      {Detail::window_nvlink_ecc_errors, std::uint64_t{0}},
      {Detail::nvlink_sent_rate, std::uint64_t{5000 * 1024}},
      {Detail::nvlink_received_rate, std::uint64_t{7000 * 1024}},
  };
  if (const auto found = chosen.find(detail); found != chosen.end()) return found->second;
  const Field& field = field_of(detail);
  const auto number = static_cast<std::uint64_t>(detail) + 1;
  Device scratch;
  if (field.unit == Unit::percent) return Scalar(static_cast<double>(number % 90 + 1));
  if (field.unit == Unit::milliwatts) return Scalar(number * 1000);
  if (field.unit == Unit::celsius) return Scalar(static_cast<std::int64_t>(number % 90) - 45);
  if (field.unit == Unit::milliseconds) return Scalar(static_cast<std::int64_t>(number));
  if (field.unit != Unit::none) return Scalar(number);
  if (field.write(scratch, Scalar(true))) return Scalar(true);
  return Scalar(std::string(field.key).substr(0, 4) == "vgpu" ? std::string("Supported")
                                                              : std::string(field.key));
}

/// What the summary of a kind of samples says, for `count` samples over two seconds.
struct ExampleSamples {
  std::string_view name;  // the keys begin with "samples_" and "window_" and this
  double min, average, mean, p95, max;
  std::uint64_t count;
};
inline constexpr ExampleSamples example_samples[] = {
    {"power", 60'000, 70'000, 70'000, 70'000, 80'000, 119},
    {"utilization_gpu", 40, 42, 41, 42, 42, 2},  // the older tells of no time
    {"utilization_memory", 1, 5, 5, 30, 30, 11},
    {"utilization_encoder", 0, 1, 1, 2, 2, 3},
    {"utilization_decoder", 0, 2, 2, 5, 5, 4},
    {"utilization_jpeg", 0, 3, 3, 9, 9, 6},
    {"utilization_optical_flow", 1, 4, 4, 8, 8, 8},
    {"clock_sm", 345, 1000, 1000, 1980, 1980, 7},
    {"clock_memory", 2619, 2619, 2619, 2619, 2619, 5},
};

inline void set_field(Device& device, const std::string& key, Scalar value) {
  const Field* field = find_field(key);
  if (field == nullptr) return;  // not every kind has a window
  EXPECT_TRUE(field->write(device, Cell(std::move(value)))) << key;
}

inline void set_samples(Device& device, const ExampleSamples& example) {
  const std::string name(example.name);
  const std::string unit = name == "power"              ? "_milliwatts"
                           : name.starts_with("clock_") ? "_megahertz"
                                                        : "_percent";
  const std::int64_t span = name == "utilization_gpu" ? 200 : 2000;
  set_field(device, "samples_" + name + "_span_milliseconds", span);
  set_field(device, "samples_" + name + "_count", example.count);
  set_field(device, "samples_" + name + "_max" + unit, example.max);
  set_field(device, "samples_" + name + "_min" + unit, example.min);
  set_field(device, "samples_" + name + "_average" + unit, example.average);
  set_field(device, "window_" + name + "_count", example.count);
  set_field(device, "window_" + name + "_min" + unit, example.min);
  set_field(device, "window_" + name + "_mean" + unit, example.mean);
  set_field(device, "window_" + name + "_p95" + unit, example.p95);
  set_field(device, "window_" + name + "_max" + unit, example.max);
}

/// The server with every detail and list that NVML can tell, once there was a look before.
inline Snapshot detailed_server(int devices = 2) {
  Snapshot host = server();
  host.devices.resize(static_cast<std::size_t>(devices));
  host.gpu_processes.resize(static_cast<std::size_t>(devices));
  for (Device& device : host.devices) {
    for (std::size_t i = 0; i < detail_count; ++i) {
      const auto detail = static_cast<Detail>(i);
      device.details.put(detail, example_of(detail));
    }
    for (const Detail untold :
         {Detail::gpu_part_number, Detail::fru_part_number, Detail::relaxed_ordering,
          Detail::sparse_operation_mode, Detail::pcie_generation_host_max,
          Detail::clock_deferred_memory, Detail::voltage_graphics, Detail::mig_copy_engines,
          Detail::mig_encoders, Detail::mig_decoders, Detail::mig_ofa_engines,
          Detail::mig_jpeg_engines}) {
      device.details.put(untold, Absent::unsupported);
    }
    for (const Detail of_others :
         {Detail::pci_path, Detail::vgpu_licensed_product, Detail::vgpu_license_status}) {
      device.details.put(of_others, Absent::not_sampled);
    }
    for (const ExampleSamples& example : example_samples) set_samples(device, example);
    device.lists.retired_pages =
        std::vector<RetiredPage>{{.address = 0x1234, .retired = WallTime{1'700'000'000'000}},
                                 {.address = 0x5678,
                                  .cause = RetiredPage::Cause::double_bit,
                                  .retired = Absent::unsupported}};
    device.lists.accounted_processes =
        std::vector<AccountedProcess>{{.pid = 31,
                                       .utilization_gpu = Percent(12),
                                       .utilization_memory = Absent::unsupported,
                                       .memory_max = 77_MiB,
                                       .run_time = Milliseconds(5000),
                                       .running = false},
                                      {.pid = 32,
                                       .utilization_gpu = Percent(1),
                                       .utilization_memory = Percent(2),
                                       .memory_max = Absent::unsupported,
                                       .run_time = Milliseconds(0),
                                       .running = true}};
    device.lists.nvlinks = std::vector<NvLink>{{.number = 0,
                                                .active = true,
                                                .speed = BytesPerSecond(26'562'000'000),
                                                .remote = std::string("00000000:c4:00.0")},
                                               {.number = 1,
                                                .active = false,
                                                .speed = Absent::unsupported,
                                                .remote = Absent::not_sampled}};
    device.lists.supported_clocks =
        std::vector<SupportedClocks>{{2619_MHz, {1980_MHz, 1965_MHz}}, {1593_MHz, {345_MHz}}};
  }
  for (GpuProcess& process : host.gpu_processes) {
    process.utilization_jpeg = Percent(4);
    process.utilization_optical_flow = Percent(5);
  }
  return host;
}

class NvmlFake : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("BERTH_FAKE_NVML_NOW_MS", "1760000000000", 1);
    unsetenv("BERTH_FAKE_NVML_FAULTS");
    unsetenv("BERTH_FAKE_NVML_PROCESS_LAYOUT");
    play(server());
  }
  void TearDown() override { unsetenv("BERTH_FAKE_NVML_FAULTS"); }
  void play(const Snapshot& machine) {
    const std::string path = directory / "machine.json";
    ASSERT_TRUE(write_file_atomically(path, to_json(machine, JsonLayout::compact)));
    setenv("BERTH_FAKE_NVML", path.c_str(), 1);
  }
  static void faults(const std::string& text) { setenv("BERTH_FAKE_NVML_FAULTS", text.c_str(), 1); }
  static Snapshot look(const std::string& list = "all", const Wanted& wanted = Depth::everything) {
    NvmlProbe probe({.library = library(list), .proc = "/nonexistent"});
    return whole_look(probe, now, wanted);
  }
  TemporaryDirectory directory;
};

}  // namespace berth::nvml
