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
using wire::StepKind;

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
  Watcher(const Ask& ask, Snapshot start, const Patience& patience, Clock& clock)
      : ask_(ask), patience_(patience), clock_(clock), began_(clock.now()) {
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
        apply(progress_, Problem{.source = "probe",
                                 .code = "no_process",
                                 .message = child.error().message(),
                                 .remedy = std::string(tr("too many processes? see ulimit -u"))});
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
      // Nothing was begun that could be left out: the next one would fare no better.
      if (!progress_.current) {
        tell_of_nothing(reason);
        break;
      }
      leave_out(*progress_.current, reason);
      if (is_over(end_of_all())) break;
    }
    if (is_over(end_of_all())) {
      give_up_nvml(progress_, {.why = GivenUp::Why::out_of_time});
    }
    return {.snapshot = finished_snapshot(std::move(progress_)), .child = std::move(ending)};
  }

 private:
  [[nodiscard]] Instant end_of_all() const { return began_ + patience_.whole; }
  /// What the driver may take of the time, so that PCI and /proc get their turn.
  [[nodiscard]] Instant end_of_nvml() const { return began_ + patience_.whole * 3 / 4; }
  [[nodiscard]] bool is_over(Instant end) const { return clock_.now() >= end; }

  /// Until when the step that is going on may be silent.
  [[nodiscard]] Instant limit() const {
    // Without persistence mode the driver wakes every card up while its library starts: seconds.
    const bool opening = progress_.current && progress_.current->kind == StepKind::nvml_open;
    const bool nvml =
        opening || (progress_.current && progress_.current->kind == StepKind::nvml_device);
    const Instant end = nvml ? end_of_nvml() : end_of_all();
    if (opening) return end;
    // Each that hangs shortens what the next may take, so that many hanging devices all get asked.
    const Duration left = std::max(end - clock_.now(), Duration{0});
    const Duration share = std::max<Duration>(left / 3, milliseconds(100));
    const Duration silence = stalls_ == 0 ? patience_.stall : std::min(patience_.stall, share);
    return std::min(end, clock_.now() + silence);
  }

  Heard listen(const ProbeChild& child) {
    wire::Unpacker unpacker;
    ReadBlock<16384> block;  // each page of it that is written to costs a fault
    while (true) {
      heard_last_ = clock_.now();
      if (!wait_for_news(child.answers.get(), clock_, limit())) return Heard::silence;
      const ssize_t got = ::read(child.answers.get(), block.data(), block.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return Heard::end;
      unpacker.feed(std::string_view(block.data(), static_cast<std::size_t>(got)));
      while (auto message = unpacker.next()) {
        const bool done = std::holds_alternative<wire::Done>(*message);
        apply(progress_, std::move(*message));
        if (done) return Heard::all;
      }
      if (unpacker.is_broken()) return Heard::garbage;
      if (is_over(end_of_all())) return Heard::silence;
    }
  }

  /// Ends the child, waits a moment for it at most, and says what happened.
  GivenUp end(const ProbeChild& child, Heard heard) {
    if (heard == Heard::silence || heard == Heard::garbage) {
      ++stalls_;
      end_child(child.pid);
    }
    const Duration moment =
        heard == Heard::silence ? Duration(milliseconds(10)) : Duration(milliseconds(100));
    if (const auto pidfd = open_pidfd(child.pid)) {
      static_cast<void>(wait_for_bytes(pidfd->get(), clock_, clock_.now() + moment));
    }
    const auto ended = reap_if_ended(child.pid);
    if (heard == Heard::silence) {
      return {.why = GivenUp::Why::stalled, .waited = clock_.now() - heard_last_};
    }
    GivenUp died{.why = GivenUp::Why::died};
    if (heard == Heard::garbage) {
      died.how = tr("bytes that are not its own in its pipe");
    } else {
      died.how = how_it_ended(ended);
    }
    return died;
  }

  void end_child(pid_t pid) const {
    if (patience_.end_child) {
      patience_.end_child(pid);
    } else {
      // Its own child, not yet reaped: the pid cannot be another's.
      static_cast<void>(send_signal({.pid = pid}, SIGKILL));
    }
  }

  void leave_out(wire::Step step, const GivenUp& reason) {
    give_up(progress_, step, reason);
    if (step.kind == StepKind::nvml_open) {
      give_up_nvml(progress_, {.why = GivenUp::Why::out_of_time});
    }
    if (step.kind == StepKind::nvml_device && is_over(end_of_nvml())) {
      give_up_nvml(progress_, {.why = GivenUp::Why::out_of_time});
    }
  }

  void tell_of_nothing(const GivenUp& reason) {
    apply(progress_, Problem{.source = "probe",
                             .code = reason.why == GivenUp::Why::died ? "crashed" : "timeout",
                             .message = reason.why == GivenUp::Why::died
                                            ? trf("the probe process died of {}", reason.how)
                                            : std::string(tr("the probe process did not answer"))});
  }

  const Ask& ask_;
  const Patience& patience_;
  Clock& clock_;
  Instant began_;
  Instant heard_last_{};
  Progress progress_;
  int stalls_ = 0;
};

}  // namespace

Watched watch(const Ask& ask, Snapshot start, const Patience& patience, Clock& clock,
              const std::optional<Beside>& beside) {
  return Watcher(ask, std::move(start), patience, clock).watch(beside);
}

}  // namespace berth
