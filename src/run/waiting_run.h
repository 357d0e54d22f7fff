#pragma once
// A run that waits for its devices. It notes what would end it. A detached run has a record
// already: that then says that the run was never started.

#include <csignal>
#include <functional>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "record/record_writer.h"
#include "run/run.h"

namespace berth {

/// While it lives, a signal that would end us in the queue is noted. So the ticket is taken away.
/// An ignored signal stays ignored, and the job finds everything as it was.
class WaitingSignals {
 public:
  WaitingSignals();
  ~WaitingSignals();
  WaitingSignals(const WaitingSignals&) = delete;
  WaitingSignals& operator=(const WaitingSignals&) = delete;

  /// The one that came since the last of these began; 0: none.
  [[nodiscard]] static int noted();
  /// It came another way.
  static void note(int signal);

 private:
  static constexpr std::size_t count = 4;
  struct sigaction before_[count]{};
};

/// How a run ended that was never started. An error on the way is an outcome without a Result.
struct NeverStarted {
  Exit exit;
  std::string_view because;  // one of end_cause
};
[[nodiscard]] NeverStarted never_started_by(const Result<RunOutcome>& outcome);

/// Writes that into the record of a run that waited.
[[nodiscard]] Result<void> end_waiting(const RecordWriter& record, Manifest manifest,
                                       const NeverStarted& how, Clock& clock);

}  // namespace berth
