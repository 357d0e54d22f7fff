#pragma once
// A server with one of everything that a view has to show. For tests only.

#include <string>
#include <utility>

#include "base/sentence.h"
#include "snapshot/builder.h"

namespace berth::example {

constexpr std::int64_t taken_ms = 1'760'000'000'000;  // 2025-10-09 08:53:20 UTC

inline Device& last(Snapshot& snapshot) { return snapshot.devices.back(); }

inline void add_h100(SnapshotBuilder& builder, const std::string& id, Percent busy, Bytes used) {
  builder.gpu(id, Bytes{85'520'809'984}).used(used).utilization(busy).with([&](Device& device) {
    device.name = std::string("NVIDIA H100 80GB HBM3");
    device.temperature = Celsius(30 + static_cast<std::int64_t>(busy.count()) * 2 / 5);
    device.temperature_slowdown = Celsius(87);
    device.power_draw = Milliwatts(70'000 + static_cast<std::uint64_t>(busy.count()) * 6'000);
    device.power_limit = Milliwatts(700'000);
    device.clock_sm = Megahertz(1980);
    device.pcie_generation = std::uint64_t{5};
    device.pcie_width = std::uint64_t{16};
    device.fan_speed = Absent::unsupported;
    device.pci_address = "00000000:" + id.substr(4) + ":00.0";
  });
}

inline void add_process(Snapshot& snapshot, const std::string& device, pid_t pid,
                        const std::string& user, std::vector<std::string> command,
                        Reading<Bytes> memory, std::int64_t age_s) {
  snapshot.gpu_processes.push_back({.device = DeviceId(device), .pid = pid, .memory = memory});
  HostProcess process;
  process.id = {.pid = pid, .start_ticks = 1};
  process.user = user;
  process.command = std::move(command);
  process.started = WallTime{taken_ms - age_s * 1000};
  snapshot.processes.push_back(std::move(process));
}

inline void add_claim(Snapshot& snapshot, const std::string& user, pid_t job,
                      std::vector<ClaimedDevice> devices, const std::string& command) {
  Claim claim;
  claim.id = "lease-" + std::to_string(snapshot.claims.size());
  claim.run = "20251009-08" + std::to_string(10 + snapshot.claims.size()) + "00-k3f9q2";
  claim.user = user;
  claim.job = ProcessId{job, 1};
  claim.keeper = ProcessId{job - 1, 1};
  claim.command = command;
  claim.since = {taken_ms - 7'380'000};
  claim.devices = std::move(devices);
  snapshot.claims.push_back(std::move(claim));
}

/// Devices 0 to 6: leased, shared by two, free, busy without a lease, held, lost, MIG. Then a card
/// that cannot be used.
inline Snapshot devices() {
  using namespace literals;
  SnapshotBuilder builder;
  add_h100(builder, "GPU-0a", 97_percent, 52_GiB);
  add_h100(builder, "GPU-1b", 41_percent, 31_GiB);
  add_h100(builder, "GPU-2c", 0_percent, 0_B);
  add_h100(builder, "GPU-3d", 88_percent, 20_GiB);
  add_h100(builder, "GPU-4e", 0_percent, 36_GiB);
  builder.gpu("GPU-5f", Absent::failed).with([](Device& device) {
    device.name = std::string("NVIDIA H100 80GB HBM3");
    device.lost = true;
    device.utilization_gpu = Absent::failed;
  });
  add_h100(builder, "GPU-6a", 0_percent, 0_B);
  builder.with([](Device& device) {
    device.mig_mode = true;
    device.utilization_gpu = Absent::unsupported;
  });
  for (const char* id : {"MIG-6a-1", "MIG-6a-2"}) {
    builder.gpu(id, 10_GiB).with([&](Device& device) {
      device.name = std::string("NVIDIA H100 80GB HBM3 MIG 1g.10gb");
      device.kind = DeviceKind::nvidia_mig;
      device.parent = DeviceId("GPU-6a");
      device.index = 6;
      device.utilization_gpu = Absent::unsupported;
    });
  }
  builder.gpu("00000000:c1:00.0", Absent::unsupported).with([](Device& device) {
    device.name = std::string("AMD Instinct MI210");
    device.kind = DeviceKind::amd_gpu;
    device.index.reset();
    device.utilization_gpu = Absent::unsupported;
    device.unusable_because = WhyUnusable("readings not supported yet");
  });
  return builder.build();
}

inline Snapshot server() {
  using namespace literals;
  Snapshot snapshot = devices();
  snapshot.host.name = std::string("gpu07");
  snapshot.host.software_of(Runtime::cuda).driver = std::string("590.48.01");
  snapshot.host.software_of(Runtime::cuda).runtime = std::string("13.1");
  add_claim(snapshot, "alice", 4711, {{DeviceId("GPU-0a"), {}}}, "python train.py --lr 3e-4");
  add_claim(snapshot, "bob", 4802, {{DeviceId("GPU-1b"), 20_GiB}}, "python serve.py");
  add_claim(snapshot, "carol", 4900, {{DeviceId("GPU-1b"), 10_GiB}}, "jupyter lab");
  add_process(snapshot, "GPU-0a", 4711, "alice",
              {"/home/alice/venv/bin/python", "train.py", "--lr", "3e-4"}, 52_GiB, 7380);
  add_process(snapshot, "GPU-1b", 4802, "bob", {"python", "serve.py", "--model", "a b"}, 31_GiB,
              45);
  add_process(snapshot, "GPU-3d", 5100, "dave", {"./a.out"}, Absent::no_permission, 93'600);
  add_process(snapshot, "MIG-6a-1", 6001, "erin", {"python3", "infer.py"}, 3_GiB, 600);
  snapshot.waiters.push_back({.id = "t1",
                              .user = "frank",
                              .command = "python big.py",
                              .wants = "-n 4",
                              .since = {taken_ms - 754'000}});
  snapshot.problems.push_back({"nvml", DeviceId("GPU-5f"), "device_lost",
                               Sentence("cannot read GPU 5: it has fallen off the bus"),
                               Sentence("look into `dmesg | grep Xid`; a reboot brings it back")});
  return snapshot;
}

}  // namespace berth::example
