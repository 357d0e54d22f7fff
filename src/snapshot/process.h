#pragma once
// Who uses a device: GpuProcess is one process's use of one device, HostProcess what /proc tells of
// that process once, however many devices it uses.

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/reading.h"
#include "base/units.h"
#include "snapshot/device.h"

namespace berth {

/// What a process does on a device: compute, graphics (the desktop), both, or through MPS.
enum class GpuUse { compute, graphics, both, mps };

struct GpuProcess {
  DeviceId device;
  pid_t pid = 0;
  GpuUse use = GpuUse::compute;
  Reading<Bytes> memory;
  // Share of the device's time in the driver's newest sample of the process.
  Reading<Percent> utilization_sm;
  Reading<Percent> utilization_memory;
  Reading<Percent> utilization_encoder;
  Reading<Percent> utilization_decoder;
  Reading<Percent> utilization_jpeg;
  Reading<Percent> utilization_optical_flow;
  std::optional<MigPlace> mig;
  friend bool operator==(const GpuProcess&, const GpuProcess&) = default;
};

struct HostProcess {
  ProcessId id;
  /// Parents, nearest first, up to init: a keeper among them tells which run it belongs to.
  std::vector<pid_t> ancestors;
  /// Nothing: the process ended between the driver's list and our look, or lives in a namespace
  /// that we cannot see into.
  Reading<uid_t> uid;
  Reading<std::string> user;  // the name; the number as text where the directory knows none
  Reading<std::vector<std::string>> command;  // masked (base/text.h masked_command)
  Reading<std::string> executable_name;       // comm: at most 15 bytes, kept for zombies
  Reading<WallTime> started;
  Reading<Milliseconds> cpu_time;  // user and system, since its start
  Reading<Bytes> memory_resident;
  Reading<std::string> state;      // "R", "S", "D", "Z", …
  Reading<std::string> container;  // "docker 1a2b3c4d5e6f", "slurm job 42"; empty text: none
  friend bool operator==(const HostProcess&, const HostProcess&) = default;
};

}  // namespace berth
