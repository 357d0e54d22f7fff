#pragma once
// The sampler: a child of the keeper that looks once a second and writes what it sees into the
// record. It holds no lease and may die; the run does not depend on it. What may hang it leaves to
// a probe process (RunServices::sight), so that it can say so.

#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "guard/memory_watch.h"
#include "record/record_writer.h"
#include "run/run.h"

namespace berth {

/// What the keeper tells the sampler, a byte each; the pipe's end means: the keeper has gone.
inline constexpr char sample_now = 's';
inline constexpr char finish_up = 'f';

/// One line that the sampler tells the keeper: the run has more of a device than its share. An
/// event before has told the user.
inline constexpr std::string_view over_cap = "over_cap";

/// The other lines that the sampler tells the keeper are these. "ready": after the first sample.
/// "sampled". "event KIND TEXT": for the record and the user. "fault …" (run/faults.h to_line): a
/// device has gone wrong. "lost TEXT": the record cannot be written.
struct SamplerTask {
  const RunOptions* options = nullptr;
  const RunServices* services = nullptr;
  Manifest manifest;
  const RecordWriter* record = nullptr;  // null: unrecorded, only watches
  pid_t keeper = 0;
  /// The process at the top of the run's tree, which is part of it. 0: it is what the keeper has
  /// started.
  pid_t root = 0;
  bool has_container = false;  // the record says which, once it is made
};

/// The sampler's whole life; the exit code of its process.
[[nodiscard]] int sample_run(const SamplerTask& task, Fd from_keeper, Fd to_keeper);

/// A process of the run on a device that the run was not given. A MIG instance's parent counts as
/// given.
struct Stray {
  pid_t pid = 0;
  DeviceId device;
  friend auto operator<=>(const Stray&, const Stray&) = default;
};
[[nodiscard]] std::vector<Stray> strays_in(const Snapshot& snapshot, const std::vector<pid_t>& tree,
                                           const std::vector<Device>& given);

/// How many of these have a device file open. Absent: none that can be seen, and some cannot.
[[nodiscard]] Reading<std::uint64_t> with_device_open(const std::vector<pid_t>& tree,
                                                      const std::vector<std::string>& device_files,
                                                      const std::string& proc);

/// How many of these the driver lists on any device. Absent: none, and not every device's list is
/// known; unsupported: no device is known.
[[nodiscard]] Reading<std::uint64_t> listed_on_gpus(const Snapshot& snapshot,
                                                    const std::vector<pid_t>& tree);

/// What the look tells of each process of the tree on the given devices.
[[nodiscard]] std::vector<ProcessSample> own_processes(const Snapshot& snapshot,
                                                       const std::vector<pid_t>& tree,
                                                       const std::vector<Device>& given);

/// What they have of the given device that stands at `place`; null: the look has none of it.
[[nodiscard]] WatchedMemory own_memory(const std::vector<ProcessSample>& own, std::size_t place,
                                       const Device* seen, const Host& host);

/// The same of everybody else's processes, user by user. A sum with a part that is missing is
/// missing.
[[nodiscard]] std::vector<OthersSample> others_beside(const Snapshot& snapshot,
                                                      const std::vector<pid_t>& tree,
                                                      const std::vector<Device>& given);

}  // namespace berth
