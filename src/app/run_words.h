#pragma once
// What `berth run` says on stderr while a job waits, starts and ends, and `berth wait` when it has
// ended. The job's own output is never touched.

#include <optional>
#include <string>

#include "app/context.h"
#include "run/run.h"

namespace berth {

/// Tells somebody who waits: one line that updates on a terminal, a line per change in a pipe.
class WaitingTeller {
 public:
  /// `detached`: it waits on when the terminal closes, and says so first.
  WaitingTeller(const Context& context, bool detached) : context_(context), detached_(detached) {}
  void operator()(const WaitingNews& news);
  /// Takes the line away before anything else is printed.
  void finish();

 private:
  void say_that_it_is_detached();

  const Context& context_;
  bool detached_;
  std::string last_;                 // on a terminal: the line
  std::optional<WaitingNews> told_;  // in a pipe
};

enum class Talk { normal, quiet };

/// The callbacks of run_job. References outlive the call.
[[nodiscard]] RunCallbacks words_of_a_run(const Context& context, WaitingTeller& teller, Talk talk);

/// Why a run that has ended failed, in one line, where it is known: also by its log, where that was
/// kept. Nothing of one that berth ended.
void say_why(Context& context, const RunRecord& record);

/// Why a job whose device went wrong is not started again.
void say_no_other_device(const Context& context, const RunOptions& options,
                         const NotAcquired& refusal);

/// Why nothing was got, device by device, and what to do about it.
void say_refusal(const Context& context, const RunOptions& options, const NotAcquired& refusal);

}  // namespace berth
