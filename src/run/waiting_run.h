#pragma once
// A run that waits. For others of its user to end well (`--after`), before it asks for devices: a
// circle cannot be asked for, as only runs that are there already can be named. Then for its
// devices: what would end it is noted. A detached run has a record already, which says in the end
// that it was never started.

#include <csignal>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

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

/// One of those that are waited for, and how it stands.
enum class AfterState { unfinished, ended_well };
/// invalid: it ended badly, or nobody will ever know how; says which and how.
[[nodiscard]] Result<AfterState> state_of_run_before(const std::string& state_directory,
                                                     const std::string& run);

/// Waits until all of them have ended well. `waits`: told once, with a sentence, where one has not.
/// not_found, invalid: one cannot be waited for. timeout: `interrupted`, asked often, said so.
[[nodiscard]] Result<void> await_runs(const std::vector<std::string>& runs,
                                      const std::string& state_directory, Clock& clock,
                                      const std::function<bool()>& interrupted,
                                      const std::function<void(const Sentence&)>& waits);

}  // namespace berth
