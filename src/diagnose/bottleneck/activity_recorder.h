#pragma once
// ActivityRecorder: makes an Activity of looks at the machine, one after another. The first look is
// what the second is compared with; each later one ends a step. Pure: who looks, and how often, is
// app/'s.

#include <map>
#include <set>
#include <vector>

#include "base/clock.h"
#include "diagnose/bottleneck/activity.h"
#include "diagnose/bottleneck/target.h"
#include "snapshot/job_counters.h"
#include "snapshot/snapshot.h"

namespace berth::bottleneck {

class ActivityRecorder {
 public:
  /// Records the target's devices, in their order. Devices that the look does not have are left
  /// out.
  ActivityRecorder(const Snapshot& first, const Target& target);

  /// A look, and the job's counters read right after it. `at` grows from look to look. Nothing once
  /// the job has ended.
  void add(Instant at, const Snapshot& snapshot, const JobCounters& job);

  /// Where the target is a job: it was there, and is there no more.
  [[nodiscard]] bool has_ended() const { return has_ended_; }

  /// The steps so far. The caller can complete the header.
  [[nodiscard]] Activity& activity() { return activity_; }
  [[nodiscard]] const Activity& activity() const { return activity_; }

 private:
  [[nodiscard]] DeviceStep device_step(const Device& device, const Device* before,
                                       const Snapshot& snapshot, Milliseconds span,
                                       const std::set<pid_t>& job, bool sees_job) const;
  /// Which of the devices it holds, and how much of them.
  void put_devices(const Snapshot& snapshot, ProcessStep& step) const;
  /// A step of a process on a device of which nothing else could be read.
  [[nodiscard]] ProcessStep unread_step(pid_t pid, const Snapshot& snapshot) const;
  [[nodiscard]] ProcessStep process_step(const ProcessCounters& now, const ProcessCounters* before,
                                         const Snapshot& snapshot) const;
  [[nodiscard]] HostStep host_step(const HostCounters& now, Milliseconds span) const;

  Activity activity_;
  bool ends_with_job_;
  bool was_there_ = false;
  bool has_ended_ = false;
  struct Last {
    Instant at{};
    std::vector<Device> devices;
    std::map<pid_t, ProcessCounters> processes;
    HostCounters host;
  };
  std::optional<Last> last_;
  Instant began_{};
};

}  // namespace berth::bottleneck
