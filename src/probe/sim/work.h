#pragma once
// Work: a simulated server whose devices follow real processes. Each process tells in a file
// (DIR/*.work) which kernels and copies it starts. From them follow the device's utilisation,
// power, clocks, PCIe counters and SM, tensor and DRAM activity. tests/workloads/README.md has the
// lines. So behaviour under load can be tried and tested without a GPU.

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/snapshot.h"

namespace berth::sim {

/// What the writer of a file says of itself.
struct WorkProcess {
  pid_t pid = 0;
  std::vector<std::size_t> devices;
  Bytes memory{0};  // of each device
  std::string framework;
  std::optional<std::uint64_t> ranks;
  std::optional<std::uint64_t> cpus;  // of the host that is simulated
  std::optional<double> cpus_allowed;
};

/// `count` kernels, or one copy, on one device. Times are seconds since 1970.
struct WorkPiece {
  std::size_t device = 0;
  double start = 0;
  double length = 0;
  double every = 0;  // from start to start
  std::uint64_t count = 1;
  bool is_kernel = true;
  double sm = 0, tensor = 0, dram = 0;        // percent, while it runs
  double power = 0;                           // share of what lies between idle and the limit
  double sent = 0, received = 0, nvlink = 0;  // bytes, all of it together
  [[nodiscard]] double end() const {
    return start + every * static_cast<double>(count - 1) + length;
  }
  /// Seconds of it within a window.
  [[nodiscard]] double within(double from, double to) const;
};

/// What holds a device's clocks from a time on.
struct WorkState {
  std::size_t device = 0;
  double at = 0;
  bool power = false;
  bool heat = false;
  double clock = 1;
};

/// One process's file, read as far as it was written.
struct WorkFile {
  std::optional<WorkProcess> process;
  std::vector<WorkPiece> pieces;  // those that are not long over
  std::vector<WorkState> states;
  std::map<std::size_t, std::pair<double, double>>
      over;  // bytes sent and received by those that are
  std::uint64_t bad_lines = 0;

  /// Takes in whole lines; one that says nothing known is counted.
  void feed(std::string_view lines);
  /// Forgets what ended before `time`, but for the bytes that it moved.
  void forget(double time);
};

/// Lets the devices show what these processes do. `since`: the look before. Activities are means
/// since then; nothing: of a second.
void put_work(Snapshot& snapshot, const std::vector<WorkFile>& files, WallTime now,
              std::optional<WallTime> since);

/// Reads a folder of such files again and again.
class WorkFolder {
 public:
  explicit WorkFolder(std::string folder) : folder_(std::move(folder)) {}
  /// What was written until now, of processes that live.
  [[nodiscard]] std::vector<WorkFile> read(WallTime now, const std::string& proc);

 private:
  struct Open {
    WorkFile file;
    std::uint64_t offset = 0;
    std::string rest;
  };
  std::string folder_;
  std::map<std::string, Open> files_;
};

}  // namespace berth::sim
