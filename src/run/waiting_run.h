#pragma once
// A run that waits for its devices: what would end it is noted, and where it is detached and so has
// a record already, that says in the end that it was never started.

#include <csignal>
#include <functional>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "record/record_writer.h"
#include "run/run.h"

namespace berth {

/// While it lives, what would end us in the queue is noted, so that the ticket is taken away. What
/// was ignored stays ignored, and the job finds everything as it was.
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

/// Of one that waits, detached. Its ticket may not have been written: then its record alone tells
/// that it waits, and why nobody finds it in the queue.
class PlaceNotes {
 public:
  void is_missing(const Sentence& why, const RecordWriter& record, const Manifest& manifest,
                  Clock& clock);
  void is_there(const RecordWriter& record, const Manifest& manifest, Clock& clock);

 private:
  bool is_there_ = false;
  bool is_missing_ = false;  // and that is noted
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
