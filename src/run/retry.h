#pragma once
// Starting a run again whose device went wrong: whether, and with what.

#include <functional>
#include <optional>

#include "run/launcher.h"
#include "run/run.h"

namespace berth {

[[nodiscard]] bool may_be_started_again(const RunOptions& options);

/// The devices that went wrong, if the run ended badly by them and may be started again.
/// `options.retry_on` says which faults count. None if it ended well, or if somebody wanted its
/// end.
[[nodiscard]] std::vector<DeviceId> devices_to_leave(const RunOptions& options,
                                                     const std::vector<Device>& given,
                                                     const LauncherReport& report);

/// For a run that died for want of a device's memory, by its record, and may be started again.
/// Gives half as much more as the run was promised. If no device has that much, gives the whole
/// device.
[[nodiscard]] std::optional<NextMemory> memory_of_next_start(const RunOptions& options,
                                                             const RunRecord& run,
                                                             const LauncherReport& report);

/// The same job once more, without the devices that went wrong. Or with more memory, on the
/// emptiest device that it may have. BERTH_RETRY_OOM tells the job how often it died for want of
/// memory.
[[nodiscard]] RunOptions next_start(const RunOptions& options, const RunOutcome& ended);

/// Whether `berth stop` was said to an earlier start of the job that `next` starts.
[[nodiscard]] bool is_stopped_between(const RunOptions& next);

/// Our input as it is before a job reads it.
class Input {
 public:
  Input();
  /// Back to where it was. False: it cannot be read again (a pipe), and some of it may be gone.
  [[nodiscard]] bool rewind() const;

 private:
  std::optional<std::int64_t> place_;
  bool flows_by_ = false;
};

/// `ended`, and the starts after it that its options want: `start` launches one.
[[nodiscard]] Result<RunOutcome> start_again_while_wanted(
    RunOptions options, const RunCallbacks& callbacks, RunOutcome ended, const Input& input,
    const std::function<Result<RunOutcome>(const RunOptions&)>& start);

}  // namespace berth
