#pragma once
// Who uses a device. GpuProcess is one process's use of one device. HostProcess is what /proc tells
// of that process: one, however many devices it uses.

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
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
  std::optional<Partition> partition;
  /// The vendor's own, between jobs and the device, as MPS's server is. Its clients are in the list
  /// themselves.
  bool server = false;
  friend bool operator==(const GpuProcess&, const GpuProcess&) = default;
};

/// What encloses a process: its control group names it, the runtime's own files call it something.
struct Enclosure {
  std::string runtime;  // docker podman containerd cri-o kubernetes lxc slurm systemd
  /// Whole: a container's 64 digits, a pod's uid where its container is unknown, slurm's "42.0"
  /// (job and step), a unit's name.
  std::string id;
  std::optional<std::string> pod_uid;
  /// Whose it is where the control group says so: a job of slurm, a user's own containers.
  std::optional<uid_t> owner_uid;
  /// What a person calls it: "train", "team-a/llm-0/worker" (namespace, pod, container).
  /// Absent  unsupported: its id is its only name (slurm, systemd, lxc); no_permission: the
  ///         runtime's files are for root or for its owner; failed: none of them knows it.
  Reading<std::string> name;
  Reading<std::string> image;  // absent likewise
  friend bool operator==(const Enclosure&, const Enclosure&) = default;
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
  /// When that was read: after the driver had answered, which may take any time. Nothing: in a
  /// simulated process, an older recording, a dump.
  std::optional<WallTime> read;
  /// Whether a terminal controls it; a terminal that closes controls nobody any more. Nothing: not
  /// read, as of a simulated one.
  std::optional<bool> has_terminal;
  Reading<Bytes> memory_resident;
  Reading<std::string> state;          // "R", "S", "D", "Z", …
  Reading<std::string> container;      // "docker 1a2b3c4d5e6f", "slurm job 42"; empty text: none
  std::optional<Enclosure> enclosure;  // the same in parts; nothing: none, or not read
  /// Seen twice in state "D", a moment apart, without having run between: looked for only where
  /// somebody asks (`berth ps`). One look at "D" says no more than that it waits for a disk.
  bool stuck = false;
  friend bool operator==(const HostProcess&, const HostProcess&) = default;
};

/// A process that has a device's file open, whether the driver lists it there or not.
struct DeviceFileHolder {
  pid_t pid = 0;
  std::uint64_t minor = 0;
  /// What stands before it in the file's path (DeviceKindFacts::card_file). Empty: what the
  /// unnamed vendor has there, as formats had its alone.
  std::string card_file = {};
  friend auto operator<=>(const DeviceFileHolder&, const DeviceFileHolder&) = default;
};

/// Processes with open device files. The only trace of one that holds a device's memory and is
/// missing in the driver's list.
struct DeviceFiles {
  std::vector<DeviceFileHolder> holders;  // by pid
  /// Processes whose open files may not be seen: other users', for all but root.
  ///
  /// Absent  no_permission: /proc does not even show that they are there (hidepid=2).
  Reading<std::uint64_t> unreadable;
  friend bool operator==(const DeviceFiles&, const DeviceFiles&) = default;
};

// The words for what a process does on a device, as nvidia-smi writes them: in JSON and on every
// surface, never translated.

constexpr std::array<std::pair<GpuUse, std::string_view>, 4> gpu_uses = {{
    {GpuUse::compute, "C"},
    {GpuUse::graphics, "G"},
    {GpuUse::both, "C+G"},
    {GpuUse::mps, "M+C"},
}};

[[nodiscard]] constexpr std::string_view word_of(GpuUse use) {
  for (const auto& [value, word] : gpu_uses) {
    if (value == use) return word;
  }
  return gpu_uses.front().second;
}

// OomKill: a process that the kernel ended because the main memory was used up, as the kernel log
// tells it.

struct OomKill {
  WallTime at;
  pid_t pid = 0;
  std::string process;            // its name, as the kernel had it: at most 15 bytes
  bool of_group = false;          // a control group's limit was reached, not the machine's end
  std::optional<Bytes> resident;  // anonymous memory that it held
  friend bool operator==(const OomKill&, const OomKill&) = default;
};

// DriverLoad: the NVIDIA kernel module was loaded, as the kernel log tells it.

struct DriverLoad {
  WallTime at;
  std::string version;  // "550.54.15"
  friend bool operator==(const DriverLoad&, const DriverLoad&) = default;
};

}  // namespace berth
