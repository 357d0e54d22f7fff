#pragma once
// Sample: what one second of a run looked like. One line each in the record's `samples` file
// (doc/FORMATS.md). The first line names the columns, so that older readers skip newer ones.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/reading.h"
#include "base/units.h"
#include "snapshot/recorded.h"

namespace berth {

/// One process of the run on one device.
struct ProcessSample {
  std::uint64_t device = 0;  // position in Manifest::given.devices
  pid_t pid = 0;
  Reading<Bytes> memory;
  friend bool operator==(const ProcessSample&, const ProcessSample&) = default;
};

/// What one user's processes that are none of the run's hold on one device.
struct OthersSample {
  std::uint64_t device = 0;  // position in Manifest::given.devices
  std::string user;          // empty: cannot be seen
  Reading<Bytes> memory;     // of all of them together
  friend bool operator==(const OthersSample&, const OthersSample&) = default;
};

/// The run's whole process tree.
struct TreeSample {
  std::uint64_t processes = 0;
  Milliseconds cpu{0};  // user and system of all seen so far, those that ended included
  Bytes memory_resident{0};
  Reading<Bytes> read;     // from storage, all seen so far
  Reading<Bytes> written;  // to storage, all seen so far
  /// Of a run without a device, where it had a process: processes with a GPU device file open, and
  /// processes that the driver lists on a GPU.
  Reading<std::uint64_t> device_files_open;
  Reading<std::uint64_t> gpu_contexts = Absent::not_sampled;
  friend bool operator==(const TreeSample&, const TreeSample&) = default;
};

struct Sample {
  WallTime at;
  std::vector<DeviceSample> devices;  // in the order of Manifest::given.devices
  std::vector<ProcessSample> processes;
  std::vector<OthersSample> others;  // by device and user
  TreeSample tree;
  std::uint64_t marks_bytes = 0;  // length of the marks file then: dates lines without a time
  friend bool operator==(const Sample&, const Sample&) = default;
};

/// The first line of a samples file, with its line break.
[[nodiscard]] std::string samples_header();
/// One line with its line break.
[[nodiscard]] std::string to_line(const Sample& sample);

/// Reads a samples file's text piece by piece. Unknown columns are skipped. A line that is no
/// sample (torn by a crash) is counted and left out.
class SampleReader {
 public:
  /// Feeds any number of bytes; calls `each` for every sample completed by them.
  void feed(std::string_view bytes, const std::function<void(const Sample&)>& each);
  /// Lines that could not be understood, a torn last one included.
  [[nodiscard]] std::uint64_t torn_lines() const { return torn_ + (rest_.empty() ? 0U : 1U); }

 private:
  void read_line(std::string_view line, const std::function<void(const Sample&)>& each);
  void keep(std::string_view piece);
  std::string rest_;
  bool too_long_ = false;
  std::vector<std::string> columns_;
  std::uint64_t torn_ = 0;
};

/// At most 100,000 samples of however many, evenly apart: of a long run every second one, every
/// fourth, …, the newest always. What is asked of all samples at once stays bounded.
class ThinnedSamples {
 public:
  static constexpr std::size_t most = 100'000;
  void add(const Sample& sample);
  /// Oldest first; nothing can be added afterwards.
  [[nodiscard]] std::vector<Sample> take() &&;

 private:
  std::vector<Sample> kept_;
  std::optional<Sample> newest_;  // where it is not among them
  std::uint64_t seen_ = 0;
  std::uint64_t stride_ = 1;
};

}  // namespace berth
