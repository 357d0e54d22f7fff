#pragma once
// A probe process: a forked child that holds neither a lease nor a terminal. It may live on for
// ever, stuck in the kernel.

#include <sys/types.h>

#include <functional>
#include <utility>

#include "base/fd.h"
#include "base/process.h"
#include "base/result.h"

namespace berth {

/// The child's ends of its pipes, always these numbers.
inline constexpr int probe_answers = 3;   // to write to
inline constexpr int probe_requests = 4;  // to read from; only where it takes requests

struct ProbeChild {
  pid_t pid = 0;
  Fd answers;   // to read from
  Fd requests;  // to write to; it may have died: write_without_signal()
};

enum class Requests { none, some };

/// Forks; the child has nothing open but its pipes, is killed when we end, runs `body` and exits.
[[nodiscard]] Result<ProbeChild> start_probe_child(const std::function<void()>& body,
                                                   Requests requests = Requests::none);

/// A probe process that has told all and that the kernel is taking down. That takes as long as to
/// show what it told. The destructor reaps it, and waits 100 ms for it at most.
class EndingChild {
 public:
  EndingChild() = default;
  explicit EndingChild(pid_t pid) : pid_(pid) {}
  EndingChild(EndingChild&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  EndingChild& operator=(EndingChild&& other) noexcept {
    std::swap(pid_, other.pid_);
    return *this;
  }
  ~EndingChild();

 private:
  pid_t pid_ = 0;
};

/// "signal 11", "exit code 3", in the reader's language; nothing: it has not ended yet.
[[nodiscard]] Sentence how_it_ended(const Result<std::optional<Exit>>& ended);

}  // namespace berth
