#include "probe/process/watch.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/process.h"
#include "base/tr.h"
#include "probe/process/child.h"

namespace berth {

namespace {

using std::chrono::milliseconds;

Result<ProbeChild> start_child(const Ask& ask, const Progress& so_far) {
  return start_probe_child([&] {
    Progress progress = so_far;
    Teller teller(progress, [](std::string_view bytes) {
      // Who listens goes on while this process is taken down, which takes as long as the listening.
      if (bytes.empty()) return ::close(probe_answers) == 0;
      return write_all(probe_answers, bytes).has_value();
    });
    ask(teller);
  });
}

enum class Heard { all, silence, end, garbage };

/// Waits for bytes; false: none came in time.
bool wait_for_bytes(int fd, Clock& clock, Instant until) {
  while (true) {
    const Duration left = std::max(until - clock.now(), Duration{0});
    const auto ms = std::chrono::ceil<milliseconds>(left).count();
    pollfd wanted{.fd = fd, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&wanted, 1, static_cast<int>(ms));
    if (ready > 0) return true;
    if (ready == 0) return false;  // whatever the clock says: a fake one stands still
    if (errno != EINTR) return true;
  }
}

/// Waits until the other end of the pipe is closed, or some bytes have lain in it for a moment;
/// false: none came in time. Being woken for each of a look's fifty messages would cost more than
/// the look: the child fills the pipe, and meanwhile what has come is taken in. A slice takes
/// longer than it says, twice as long on a loaded machine, so the clock is asked; a fake one stands
/// still, so the slices are counted too.
bool wait_for_news(int pipe, Clock& clock, Instant until) {
  constexpr milliseconds moment{1};
  Duration left = std::max(until - clock.now(), Duration{0});
  while (true) {
    const auto slice = std::min(std::chrono::ceil<milliseconds>(left), moment);
    pollfd end{.fd = pipe, .events = 0, .revents = 0};
    const int ended = ::poll(&end, 1, static_cast<int>(slice.count()));
    if (ended > 0 || (ended < 0 && errno != EINTR)) return true;
    pollfd bytes{.fd = pipe, .events = POLLIN, .revents = 0};
    if (::poll(&bytes, 1, 0) != 0) return true;
    if (ended == 0) left -= slice;
    left = std::min<Duration>(left, until - clock.now());
    if (left <= Duration{0}) return false;
  }
}

class Watcher {
 public:
  Watcher(const Ask& ask, Snapshot start, const Patience& patience, Clock& clock,
          EndChild end_child)
      : ask_(ask),
        clock_(clock),
        deadlines_(patience, clock.now()),
        tell_slow_start_(patience.tell_slow_start),
        end_child_(std::move(end_child)) {
    progress_.snapshot = std::move(start);
  }

  Watched watch(const std::optional<Beside>& beside) {
    if (beside) progress_.over.insert(beside->step);
    bool is_done = !beside;
    EndingChild ending;
    while (true) {
      auto child = start_child(ask_, progress_);
      if (!child) {
        if (!is_done) progress_.over.erase(beside->step);
        tell_of_no_process(progress_, child.error());
        break;
      }
      if (!std::exchange(is_done, true)) beside->work(progress_.snapshot);
      progress_.current.reset();
      const Heard heard = listen(*child);
      if (heard == Heard::all) {
        ending = EndingChild(child->pid);
        break;
      }
      const GivenUp reason = end(*child, heard);
      if (!give_up_current(progress_, reason, is_over(deadlines_.end_of_nvml()))) break;
      if (is_over(deadlines_.end_of_all())) break;
    }
    if (is_over(deadlines_.end_of_all())) {
      give_up_nvml(progress_, {.why = GivenUp::Why::out_of_time});
    }
    return {.snapshot = finished_snapshot(std::move(progress_)), .child = std::move(ending)};
  }

 private:
  [[nodiscard]] bool is_over(Instant end) const { return clock_.now() >= end; }

  Heard listen(const ProbeChild& child) {
    wire::Unpacker unpacker;
    ReadBlock<16384> block;  // each page of it that is written to costs a fault
    deadlines_.begins(clock_.now());
    while (true) {
      const Instant now = clock_.now();
      const Instant limit = deadlines_.silence_ends(progress_, now);
      const Instant patient =
          tell_slow_start_ ? std::min(limit, now + Patience::slow_after) : limit;
      if (!wait_for_news(child.answers.get(), clock_, patient)) {
        if (patient == limit) return Heard::silence;
        if (!deadlines_.is_slow_start(progress_, clock_.now())) continue;
        std::exchange(tell_slow_start_, nullptr)();
        continue;
      }
      const ssize_t got = ::read(child.answers.get(), block.data(), block.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return Heard::end;
      unpacker.feed(std::string_view(block.data(), static_cast<std::size_t>(got)));
      wire::Message message;
      while (unpacker.next(message)) {
        const bool done = std::holds_alternative<wire::Done>(message);
        apply(progress_, std::move(message));
        if (done) return Heard::all;
      }
      if (unpacker.is_broken()) return Heard::garbage;
      deadlines_.answered(clock_.now());
      if (is_over(deadlines_.end_of_all())) return Heard::silence;
    }
  }

  /// Ends the child, waits a moment for it at most, and says what happened.
  GivenUp end(const ProbeChild& child, Heard heard) {
    const Duration waited = deadlines_.silent(clock_.now());
    if (heard == Heard::silence || heard == Heard::garbage) {
      deadlines_.gave_up(clock_.now());
      end_child(child.pid);
    }
    const Duration moment =
        heard == Heard::silence ? Duration(milliseconds(10)) : Duration(milliseconds(100));
    if (const auto pidfd = open_pidfd(child.pid)) {
      static_cast<void>(wait_for_bytes(pidfd->get(), clock_, clock_.now() + moment));
    }
    const auto ended = reap_if_ended(child.pid);
    if (heard == Heard::silence) {
      const bool has_just_answered = waited < milliseconds(1);
      return {.why = has_just_answered ? GivenUp::Why::out_of_time : GivenUp::Why::stalled,
              .waited = waited};
    }
    if (heard == Heard::garbage) return scribbled();
    return {.why = GivenUp::Why::died, .how = how_it_ended(ended)};
  }

  void end_child(pid_t pid) const {
    if (end_child_) {
      end_child_(pid);
    } else {
      static_cast<void>(signal_child(pid, SIGKILL));
    }
  }

  const Ask& ask_;
  Clock& clock_;
  Deadlines deadlines_;
  std::function<void()> tell_slow_start_;
  EndChild end_child_;
  Progress progress_;
};

}  // namespace

Watched watch(const Ask& ask, Snapshot start, const Patience& patience, Clock& clock,
              const std::optional<Beside>& beside, EndChild end_child) {
  return Watcher(ask, std::move(start), patience, clock, std::move(end_child)).watch(beside);
}

}  // namespace berth
