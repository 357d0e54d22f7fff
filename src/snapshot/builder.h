#pragma once
// SnapshotBuilder: a snapshot for a test in one line. For tests and benchmarks only.
//
//   const Snapshot host = SnapshotBuilder().gpu("A", 24_GiB).used(10_GiB).gpu("B", 24_GiB).build();

#include <string>
#include <utility>

#include "snapshot/snapshot.h"

namespace berth {

class SnapshotBuilder {
 public:
  /// Adds an idle NVIDIA card with everything a healthy one reports; later calls change the last.
  SnapshotBuilder& gpu(std::string id, Bytes total) {
    Device device;
    device.id = DeviceId(id);
    device.kind = DeviceKind::nvidia_gpu;
    device.index = static_cast<int>(snapshot_.devices.size());
    device.name = std::string("NVIDIA Test GPU");
    device.uuid = id;
    device.minor_number = static_cast<std::uint64_t>(*device.index);
    device.compute_capability = ComputeCapability{8, 0};
    device.memory_total = total;
    device.memory_used = Bytes{0};
    device.memory_free = total;
    device.memory_reserved = Bytes{0};
    device.utilization_gpu = Percent{0};
    device.utilization_history = std::vector<UtilizationSample>{};
    snapshot_.devices.push_back(std::move(device));
    return *this;
  }
  /// The same with nothing known about its memory.
  SnapshotBuilder& gpu(std::string id, Absent why) {
    gpu(std::move(id), Bytes{0});
    last().memory_total = last().memory_used = last().memory_free = last().memory_reserved = why;
    return *this;
  }
  SnapshotBuilder& used(Bytes bytes) {
    last().memory_used = bytes;
    last().memory_free = minus(*last().memory_total.get(), bytes).value_or(Bytes{0});
    return *this;
  }
  SnapshotBuilder& utilization(Percent percent) {
    last().utilization_gpu = percent;
    return *this;
  }
  /// Any other change to the last device.
  template <class Change>
  SnapshotBuilder& with(Change change) {
    change(last());
    return *this;
  }
  /// A process on the last device, in the driver's list and in /proc.
  SnapshotBuilder& process(pid_t pid, std::string user, Bytes memory,
                           GpuUse use = GpuUse::compute) {
    GpuProcess on_device;
    on_device.device = last().id;
    on_device.pid = pid;
    on_device.use = use;
    on_device.memory = memory;
    snapshot_.gpu_processes.push_back(std::move(on_device));
    HostProcess process;
    process.id = {.pid = pid, .start_ticks = 1};
    process.user = std::move(user);
    process.command = std::vector<std::string>{"python", "train.py"};
    snapshot_.processes.push_back(std::move(process));
    return *this;
  }
  /// A lease of `user` on the last device; no promise: the whole device.
  SnapshotBuilder& claim(std::string user, std::optional<Bytes> promised = std::nullopt,
                         pid_t keeper = 1) {
    Claim claim;
    claim.id = "lease-" + std::to_string(snapshot_.claims.size());
    claim.user = std::move(user);
    claim.keeper = ProcessId{.pid = keeper};
    claim.command = "python train.py";
    claim.devices.push_back({last().id, promised});
    snapshot_.claims.push_back(std::move(claim));
    return *this;
  }
  [[nodiscard]] Snapshot build() const { return snapshot_; }

 private:
  Device& last() { return snapshot_.devices.back(); }
  Snapshot snapshot_{.taken = WallTime{1'760'000'000'000}};
};

}  // namespace berth
