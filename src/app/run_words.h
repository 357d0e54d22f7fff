#pragma once
// What `berth run` says on stderr while a job waits, starts and ends, and `berth wait` when it has
// ended. The job's own output is never touched.

#include <optional>

#include "app/context.h"
#include "run/run.h"

namespace berth {

/// Tells somebody who waits. On a terminal it is one line that updates, as long as we are in front
/// there. In a pipe it is a line per change.
class WaitingReporter {
 public:
  explicit WaitingReporter(const Context& context) : context_(context) {}
  void operator()(const WaitingNews& news);
  /// Takes the line away before anything else is printed.
  void finish();
  /// Whether who waited was told all that `refusal` says of the devices, with nothing new since.
  [[nodiscard]] bool has_told(const NotAcquired& refusal) const;

 private:
  void draw(const WaitingNews& news);

  const Context& context_;
  bool drawn_ = false;               // on a terminal: the line stands there
  std::optional<WaitingNews> told_;  // the last that was said, on a terminal the first
};

enum class Talk { normal, quiet, verbose };

/// The callbacks of run_job. References outlive the call.
[[nodiscard]] RunCallbacks words_of_a_run(const Context& context, WaitingReporter& reporter,
                                          Talk talk);

/// Why a run that has ended failed, in one line, where it is known. A log that was kept counts,
/// too. Says nothing of a run that berth ended.
void say_why(Context& context, const RunRecord& record);

/// Why a job whose device went wrong is not started again.
void say_no_other_device(const Context& context, const RunOptions& options,
                         const NotAcquired& refusal);

/// Why nothing was got, device by device unless it is told, and what to do about it.
enum class Devices { untold, told };
void say_refusal(const Context& context, const RunOptions& options, const NotAcquired& refusal,
                 Devices devices = Devices::untold);

}  // namespace berth
