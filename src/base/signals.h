#pragma once
// Signals as things to read instead of handlers that interrupt. For a process that takes part in a
// shell's job control. It blocks all signals and reads each with its sender. It restores for its
// children exactly what it was started with.

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/result.h"

namespace berth {

struct ArrivedSignal {
  int number = 0;
  /// Made by the kernel: a key on the terminal, a closed terminal, a changed window.
  bool from_kernel = false;
  pid_t sender = 0;  // 0: the kernel, or a process of another PID namespace
};

/// All signals but faults, blocked in this process from open() on and read from a descriptor.
class SignalQueue {
 public:
  [[nodiscard]] static Result<SignalQueue> open();
  SignalQueue(SignalQueue&&) noexcept;
  SignalQueue& operator=(SignalQueue&&) noexcept;
  ~SignalQueue();  // leaves them blocked: what is pending must not strike later

  [[nodiscard]] int descriptor() const { return fd_.get(); }
  /// The next one that has arrived; nothing: none has.
  [[nodiscard]] std::optional<ArrivedSignal> next();
  /// For a forked child about to execute a job: the mask and the SIGCHLD disposition that open()
  /// found.
  void restore_original() const;

 private:
  struct Original;
  SignalQueue(Fd fd, std::unique_ptr<Original> original);
  Fd fd_;
  std::unique_ptr<Original> original_;
};

/// Waits until a descriptor has something to read, its other end has closed, or `patience` is over.
/// No `patience`: as long as it takes. Says for each descriptor whether.
[[nodiscard]] std::vector<bool> wait_readable(const std::vector<int>& descriptors,
                                              std::optional<Duration> patience);

/// Ignored since this process began: nohup's SIGHUP, say.
[[nodiscard]] bool is_ignored(int signal);

/// The call that raises this signal (SIGPIPE, SIGXFSZ) fails with its error instead of ending us.
/// An executed program does not inherit that, as it would SIG_IGN. An ignored signal stays ignored.
void outlive(int signal);

/// As write_all(), and where nobody reads any more it fails without SIGPIPE, whatever this process
/// does with that otherwise.
[[nodiscard]] Result<void> write_without_signal(int pipe, std::string_view bytes);

/// For a forked child about to execute a helper program. Signals that we block and read then end
/// it, and so does a closed pipe. A job gets what we were started with instead (restore_original).
void reset_signals();

/// Stops this process as the signal does by default (SIGTSTP, SIGTTIN, SIGTTOU, SIGSTOP). Returns
/// when continued, or at once where the system ignores it: nobody could continue us.
void stop_self(int signal);

/// Dies of the same signal without a core dump. Returns the exit code to use where it did not kill,
/// or the job exited by itself.
[[nodiscard]] int end_like(const Exit& exit);

}  // namespace berth
