#pragma once
// A snapshot with every member filled, for the tests of this folder.

#include "base/member_count.h"
#include "base/sentence.h"
#include "snapshot/builder.h"
#include "snapshot/fields.h"

namespace berth {

/// Writes a value of the field's own type; `seed` makes neighbours differ. False: it takes none of
/// the types tried.
inline bool fill(const Field& field, Device& device, std::uint64_t seed) {
  if (field.key == "compute_capability") {
    return field.write(device, Scalar(std::string("8.6")));
  }
  return field.write(device, Scalar(1000 + seed)) || field.write(device, Scalar(true)) ||
         field.write(device, Scalar("text-" + std::to_string(seed)));
}

inline Device full_device(std::string id) {
  Device device;
  device.id = DeviceId(std::move(id));
  device.kind = DeviceKind::nvidia_mig;
  device.parent = DeviceId("GPU-parent");
  device.partition = Partition{3, 1};
  device.index = 4;
  device.runtime_index = 2;
  device.unusable_because = WhyUnusable("a reason");
  device.lost = true;
  device.integrated = true;
  std::uint64_t seed = 0;
  for (const Field& field : fields()) {
    if (field.write != nullptr) fill(field, device, ++seed);
  }
  device.lists = {
      std::vector<RetiredPage>{{0x10, RetiredPage::Cause::double_bit, WallTime{17}}, {0x20}},
      std::vector<AccountedProcess>{
          {42, Percent{3}, Percent{4.5}, Bytes{5}, Milliseconds{6}, true}},
      std::vector<SupportedClocks>{{Megahertz{2619}, {Megahertz{1980}, Megahertz{345}}}},
      std::vector<NvLink>{{3, true, BytesPerSecond{26}, std::string("00000000:3b:00.0")}}};
  device.utilization_history =
      std::vector<UtilizationSample>{{Milliseconds{5}, Percent{12.5}}, {Milliseconds{170}, {}}};
  return device;
}

/// Each has a value below: so the tests find one that walk() forgets (snapshot/walk.cc).
static_assert(
    all_counted<Members<Snapshot, 14>, Members<Device, 69>, Members<Host, 6>,
                Members<VendorSoftware, 3>, Members<ExcludedDevice, 2>, Members<GpuProcess, 12>,
                Members<HostProcess, 15>, Members<Enclosure, 6>, Members<DeviceFiles, 2>,
                Members<DeviceFileHolder, 3>, Members<Claim, 14>, Members<ClaimedDevice, 2>,
                Members<Waiter, 15>, Members<XidEvent, 7>, Members<SourceReport, 2>,
                Members<Problem, 5>, Members<Partition, 2>, Members<RetiredPage, 3>,
                Members<AccountedProcess, 6>, Members<SupportedClocks, 2>, Members<NvLink, 4>,
                Members<UtilizationSample, 2>>);

inline Snapshot full_snapshot() {
  Snapshot snapshot;
  snapshot.taken = WallTime{1'760'000'000'123};
  snapshot.simulated = "SIMULATED lab";
  snapshot.host.name = std::string("box");
  snapshot.host.kernel = std::string("6.1");
  snapshot.host.boot_id = std::string("boot");
  snapshot.host.process_view = std::string("whole");
  snapshot.host.software_of(Runtime::cuda) = {std::string("590.48"), std::string("12"),
                                              std::string("13.1")};
  snapshot.host.software_of(Runtime::rocm) = {Absent::unsupported, Absent::not_sampled,
                                              std::string("6.3.0-39")};
  snapshot.devices = {full_device("MIG-1"), Device{.id = DeviceId("GPU-2")}};
  snapshot.devices[1].power_draw = Absent::no_permission;
  snapshot.devices[1].temperature = Celsius{-5};
  snapshot.devices[1].utilization_history = Absent::failed;
  snapshot.gpu_processes = {
      {.device = DeviceId("MIG-1"),
       .pid = 42,
       .use = GpuUse::both,
       .memory = Bytes{7},
       .utilization_sm = Percent{3.5},
       .utilization_memory = Percent{2},
       .utilization_encoder = Absent::failed,
       .utilization_decoder = Percent{4},
       .utilization_jpeg = Percent{1},
       .utilization_optical_flow = Percent{6},
       .partition = Partition{3, 1},
       .server = true},
      {.device = DeviceId("GPU-2"), .pid = 43, .memory = Absent::unsupported}};
  snapshot.host.excluded_devices =
      std::vector<ExcludedDevice>{{"00000000:4b:00.0", "GPU-b300b300-0000-0000-0000-000000000003"}};
  HostProcess process;
  process.id = {42, 99};
  process.ancestors = {7, 1};
  process.uid = uid_t{1000};
  process.user = std::string("alice");
  process.command = std::vector<std::string>{"python", "a b.py", ""};
  process.executable_name = std::string("python");
  process.started = WallTime{17};
  process.cpu_time = Milliseconds{18};
  process.read = WallTime{20};
  process.has_terminal = true;
  process.stuck = true;
  process.memory_resident = Bytes{19};
  process.state = std::string("S");
  process.container = std::string("docker 1a2b");
  process.enclosure = Enclosure{.runtime = "docker",
                                .id = "1a2b",
                                .pod_uid = "2f5c",
                                .owner_uid = 1000,
                                .name = std::string("train"),
                                .image = Absent::no_permission};
  snapshot.processes = {process, HostProcess{.id = {43, 0}, .user = Absent::no_permission}};
  snapshot.claims = {{"lease",
                      "run",
                      1000,
                      "alice",
                      ProcessId{7, 8},
                      ProcessId{42, 99},
                      "python",
                      {16},
                      {{DeviceId("MIG-1"), Bytes{5}}, {DeviceId("GPU-2"), std::nullopt}},
                      "1a2b",
                      CapTier::shim,
                      "landlock",
                      WallTime{30},
                      false}};
  snapshot.waiters = {{.id = "ticket",
                       .run = "run",
                       .uid = 1001,
                       .user = "bob",
                       .process = {50, 51},
                       .command = "train",
                       .wants = "-n 2",
                       .request = "{}",
                       .since = {20},
                       .priority = Priority::low,
                       .time_limit = std::chrono::milliseconds(60'000),
                       .gathered = {DeviceId("GPU-2")},
                       .gathers_until = WallTime{40},
                       .stuck = true,
                       .reserved = {{DeviceId("GPU-2"), Bytes{6}}}}};
  snapshot.device_files = DeviceFiles{{{42, 3}}, 1};
  snapshot.xids = std::vector<XidEvent>{
      {"00000000:3b:00.0", 79, WallTime{25}, 42U, std::string("python"), "fell off the bus", 25}};
  snapshot.driver_loaded = WallTime{12};
  snapshot.sources = {{"nvml", true}, {"pci", false}};
  snapshot.problems = {
      {"nvml", DeviceId("GPU-2"), "timeout", Sentence("it hung"), Sentence("reset it")},
      {"pci", std::nullopt, "denied", Sentence("no"), {}}};
  return snapshot;
}

}  // namespace berth
