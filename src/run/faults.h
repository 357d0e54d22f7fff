#pragma once
// What happens when a device of a run goes wrong while the job is on it. The sampler tells the
// keeper each device's fault once. The keeper tells the record and the launcher, and the job if it
// wants that.

#include <sys/types.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/note.h"
#include "base/sentence.h"
#include "snapshot/device_fault.h"
#include "snapshot/snapshot.h"

namespace berth {

/// What is wrong with the devices of a look.
using FaultFinder = std::function<std::vector<DeviceFault>(const Snapshot& snapshot)>;

/// One that has come up, as the sampler tells the keeper.
struct FaultNews {
  FaultKind kind = FaultKind::failed;
  std::size_t device = 0;  // its place among the run's devices
  std::string code;        // a word for programs, no blanks
  Sentence text;           // "GPU 2: it fell off the bus"
  friend bool operator==(const FaultNews&, const FaultNews&) = default;
};

/// "gpu_lost 0 lost GPU 2: …", without a line break, and back. Nothing: not such a line.
[[nodiscard]] std::string to_line(const FaultNews& news);
[[nodiscard]] std::optional<FaultNews> fault_from_line(std::string_view line);
/// The same of "event KIND TEXT".
[[nodiscard]] std::optional<Note> note_from_line(std::string_view line);

/// On a device that is shared, errors of somebody else's job are not this one's. `own`: every
/// process that the run is known to have had. An error that names no process may be anybody's.
[[nodiscard]] std::vector<DeviceFault> without_errors_of_others(std::vector<DeviceFault> faults,
                                                                const std::set<pid_t>& own);

/// Tells what is new from one look to the next.
class FaultWatch {
 public:
  enum class Known { nothing, what_the_first_look_finds };

  /// The run's own devices. `known`: whether they were taken as they are, whatever is wrong.
  FaultWatch(std::vector<Device> given, Known known) : given_(std::move(given)), known_(known) {}

  /// The faults of a look that the run's devices did not have before. What the driver had reported
  /// before the first look is not about this job.
  [[nodiscard]] std::vector<FaultNews> news(const std::vector<DeviceFault>& found,
                                            const Snapshot& look);

 private:
  void add_news(std::size_t place, const DeviceFault& fault, bool first,
                std::vector<FaultNews>& news);

  std::vector<Device> given_;
  Known known_;
  bool first_ = true;
  std::set<std::pair<std::size_t, std::string>> seen_;
};

}  // namespace berth
