#include "run/launcher.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>

#include "base/fd.h"
#include "base/line_buffer.h"
#include "base/process.h"
#include "base/process_stat.h"
#include "base/sentence.h"
#include "base/text.h"
#include "run/handover.h"
#include "run/run.h"
#include "run/tree.h"

namespace berth {

namespace {

using std::chrono::milliseconds;

// A signal to the group reaches its members within one system call. The rest is scheduling: we wait
// for it while we can see that it has yet to happen.
constexpr Duration group_patience = milliseconds(50);
constexpr Duration longest_group_patience = std::chrono::seconds(2);

// A job that ends within this time has no use for a listener. Starting and ending a listener costs
// as much as a short job.
constexpr Duration before_listening = milliseconds(3);

struct Heard {
  int number = 0;
  pid_t sender = 0;
  Instant at;
};

/// A second member of the launcher's process group that only listens. A signal that it gets, too,
/// was sent to the group (`kill %1`, a shell that passes on SIGHUP). So the job has had it already.
/// The signal itself does not tell.
class GroupSignalListener {
 public:
  explicit GroupSignalListener(const LauncherTask& task) : clock_(*task.clock) {
    auto heard = make_pipe();
    if (!heard) return;
    const pid_t launcher = ::getpid();
    const auto child = fork_process([&] {
      heard->read.close();
      return listen(*task.signals, heard->write.get(), launcher);
    });
    if (!child) return;
    pid_ = *child;
    from_listener_ = std::move(heard->read);
  }

  [[nodiscard]] pid_t pid() const { return pid_; }

  /// Whether the same signal of the same sender has reached the listener as well.
  [[nodiscard]] bool heard(const ArrivedSignal& signal) {
    const Instant begin = clock_.now();
    for (;;) {
      std::erase_if(heard_,
                    [&](const Heard& one) { return clock_.now() - one.at > 2 * group_patience; });
      const auto same = std::find_if(heard_.begin(), heard_.end(), [&](const Heard& one) {
        return one.number == signal.number && one.sender == signal.sender;
      });
      if (same != heard_.end()) {
        heard_.erase(same);
        return true;
      }
      if (!from_listener_.is_open()) return false;
      const Duration waited = clock_.now() - begin;
      const bool is_over =
          waited >= longest_ || (waited >= group_patience && !has_yet_to_hear(signal.number));
      const Duration left = std::max<Duration>(group_patience - waited, milliseconds(5));
      // What it had heard before it fell asleep stands in the pipe by now.
      const bool news = wait_readable({from_listener_.get()}, is_over ? Duration(0) : left).front();
      if (news) take_in();
      if (!is_over || news) continue;
      if (waited >= longest_) longest_ = group_patience;  // it is not waited for so long again
      return false;
    }
  }

  void end() {
    from_listener_.close();
    if (pid_ == 0) return;
    if (const auto self = identify_process(pid_)) (void)send_signal(*self, SIGKILL);
    (void)reap(pid_);
    pid_ = 0;
  }
  void has_ended() { pid_ = 0; }
  [[nodiscard]] int descriptor() const { return from_listener_.get(); }
  void take_in() {
    Heard one;
    const ssize_t got = ::read(from_listener_.get(), &one, sizeof one);
    if (got == static_cast<ssize_t>(sizeof one)) {
      one.at = clock_.now();
      heard_.push_back(one);
    } else {
      from_listener_.close();
    }
  }

 private:
  /// Whether it was given no processor since such a signal came, or is about to tell one. If
  /// somebody stopped the group and let the launcher alone go on, the listener is continued, too.
  [[nodiscard]] bool has_yet_to_hear(int signal) const {
    const auto status = read_proc_file(fmt::format("/proc/{}/status", pid_));
    if (!status) return false;
    const auto pending = parse_hex(value_in_lines(*status, "ShdPnd").value_or("")).value_or(0);
    const std::string state = value_in_lines(*status, "State").value_or("");
    if (state.starts_with('T')) {
      if (const auto self = identify_process(pid_)) (void)send_signal(*self, SIGCONT);
    }
    return state.starts_with('R') || (pending >> (signal - 1) & 1) != 0;
  }

  static int listen(SignalQueue& signals, int to_launcher, pid_t launcher) {
    const auto tied = die_with_parent(launcher);
    if (!tied || !close_standard_streams()) return 0;
    for (;;) {
      (void)wait_readable({signals.descriptor()}, std::nullopt);
      while (const auto signal = signals.next()) {
        if (signal->from_kernel) continue;
        const Heard one{.number = signal->number, .sender = signal->sender};
        const std::string_view bytes(reinterpret_cast<const char*>(&one), sizeof one);
        if (!write_all(to_launcher, bytes)) return 0;
      }
    }
  }

  Clock& clock_;
  Fd from_listener_;
  pid_t pid_ = 0;
  std::vector<Heard> heard_;
  Duration longest_ = longest_group_patience;
};

/// The job or one of its descendants: its line of parents leads to the keeper.
bool is_of_tree(pid_t pid, pid_t keeper, pid_t job, const std::string& proc) {
  std::vector<pid_t> line = ancestors_of(pid, proc);
  line.push_back(pid);
  return std::ranges::any_of(line, [&](pid_t one) { return one == job || one == keeper; });
}

class Launcher {
 public:
  Launcher(const LauncherTask& task, Fd from_keeper)
      : task_(task), from_keeper_(std::move(from_keeper)) {}

  LauncherReport run() {
    while (!done_) {
      std::vector<int> descriptors = {task_.signals->descriptor(), from_keeper_.get()};
      descriptors.push_back(listener_ ? listener_->descriptor() : -1);
      const auto readable = wait_readable(descriptors, until_listening());
      if (listener_due_ && task_.clock->now() >= *listener_due_) {
        listener_due_.reset();
        listener_.emplace(task_);
      }
      if (readable[2]) listener_->take_in();
      if (readable[1]) hear_keeper();
      if (readable[0]) take_signals();
    }
    if (listener_) listener_->end();
    return report_;
  }

 private:
  [[nodiscard]] std::optional<Duration> until_listening() const {
    if (!listener_due_) return std::nullopt;
    return std::max(*listener_due_ - task_.clock->now(), Duration(0));
  }

  void hear_keeper() {
    if (!lines_.add_from(from_keeper_.get())) {
      from_keeper_.close();
      on_keeper_gone();
      return;
    }
    // A detached run is left at its start, also when the news of its end came along with it.
    while (!done_) {
      const auto line = lines_.next();
      if (!line) return;
      on_line(*line);
    }
  }

  void tell(const RunNews& news) const {
    if (task_.on_news) task_.on_news(news);
  }

  void on_line(const std::string& line) {
    const auto words = split(line, ' ');
    const auto number = [&](std::size_t at) {
      return at < words.size() ? parse_signed(words[at]).value_or(0) : 0;
    };
    if (words[0] == "started" && !report_.job) {
      report_.job = ProcessId{static_cast<pid_t>(number(1)), static_cast<std::uint64_t>(number(2))};
      if (task_.on_started) task_.on_started(*report_.job);
      for (const ArrivedSignal& signal : std::exchange(early_, {})) pass_on(signal);
      if (!task_.alone) listener_due_ = task_.clock->now() + before_listening;
      done_ = task_.detached;
    } else if (auto failure = failure_in(line)) {
      report_.not_started = std::move(failure);
      done_ = true;
    } else if (words[0] == "stopped") {
      stop_with_job(static_cast<int>(number(1)));
    } else if (auto end = end_news_in(line)) {
      report_.exit = end->exit;
      report_.because = std::move(end->more);
      done_ = true;
    } else if (auto client = runs_on_in(line)) {
      report_.exit = client->exit;
      report_.runs_on = std::move(client->more);
      done_ = true;
    } else if (words[0] == "say") {
      tell(RunRemark{Sentence(line.substr(4))});
    } else if (words[0] == "fault") {
      take_fault(std::string_view(line).substr(6));
    }
  }

  void take_fault(std::string_view text) {
    auto news = fault_from_line(text);
    if (!news) return;
    tell(RunRemark{news->text});
    report_.faults.push_back(*std::move(news));
  }

  /// The shell is to see us stop when the job stops; one continued meanwhile has not stopped.
  void stop_with_job(int signal) {
    if (!report_.job) return;
    const auto stat = read_process_stat(report_.job->pid, task_.proc);
    if (stat && stat->state == 'T') stop_self(signal);
  }

  /// Killed with its heir: their orphans come to us (we adopt orphans too), the job among them.
  void on_keeper_gone() {
    if (done_) return;
    report_.keeper_lost = true;
    (void)reap(task_.keeper);  // from then on its children are ours
    if (!report_.job) report_.job = orphan();
    if (!report_.job) {
      report_.not_started = Error(ErrorCode::io, "the keeper of the run was killed");
      done_ = true;
      return;
    }
    tell(KeeperKilled{});
    done_ = task_.detached;
    take_children();
    const auto living = identify_process(report_.job->pid, task_.proc);
    if (done_ || (living && *living == *report_.job)) return;
    // The keeper took the job's end and was killed before it could tell.
    report_.exit = Exit{.code = exit_code::berth_failed};
    done_ = true;
  }

  /// Our only child where the keeper could no longer tell which the job is.
  static std::optional<ProcessId> orphan() {
    const auto children =
        read_file("/proc/self/task/" + std::to_string(::getpid()) + "/children", 4096);
    if (!children) return std::nullopt;
    const auto pid = parse_unsigned(split(trimmed(*children), ' ').front());
    const auto child = identify_process(static_cast<pid_t>(pid.value_or(0)));
    return child ? std::optional(*child) : std::nullopt;
  }

  void take_children() {
    while (const auto change = next_child_change()) {
      if (listener_ && change->pid == listener_->pid() &&
          change->what == ChildChange::What::ended) {
        listener_->has_ended();
      }
      if (!report_.job || change->pid != report_.job->pid) continue;
      if (change->what == ChildChange::What::stopped) stop_with_job(change->stop_signal);
      if (change->what == ChildChange::What::ended) {
        report_.exit = change->exit;
        done_ = true;
      }
    }
  }

  void take_signals() {
    while (const auto signal = task_.signals->next()) {
      if (signal->number == SIGCHLD) {
        take_children();
        continue;
      }
      // A signal that comes while the job is being started is for the job: kept until then.
      if (!report_.job) {
        early_.push_back(*signal);
      } else {
        pass_on(*signal);
      }
    }
  }

  void pass_on(const ArrivedSignal& signal) {
    SignalFacts facts{.signal = signal, .keeper = task_.keeper};
    facts.sent_by_tree = !signal.from_kernel &&
                         is_of_tree(signal.sender, task_.keeper, report_.job->pid, task_.proc);
    report_.end_wanted |= asks_for_the_end(facts);
    if (signal.from_kernel) return;
    facts.job_in_group = process_group_of(report_.job->pid) == process_group_of(0);
    // Hearing the listener out takes a moment: only where it matters.
    if (!is_to_be_forwarded(facts)) return;
    facts.sent_to_group = facts.job_in_group && listener_ && listener_->heard(signal);
    if (is_to_be_forwarded(facts)) (void)send_signal(*report_.job, signal.number);
  }

  const LauncherTask& task_;
  Fd from_keeper_;
  LineBuffer lines_;
  std::optional<GroupSignalListener> listener_;
  std::optional<Instant> listener_due_;
  LauncherReport report_;
  std::vector<ArrivedSignal> early_;  // before there was a job
  bool done_ = false;
};

}  // namespace

bool asks_for_the_end(const SignalFacts& facts) {
  switch (facts.signal.number) {
    case SIGINT:
    case SIGTERM:
    case SIGHUP:
    case SIGQUIT:
      return !facts.sent_by_tree;
    default:
      return false;
  }
}

bool is_to_be_forwarded(const SignalFacts& facts) {
  if (facts.signal.from_kernel || facts.signal.number == SIGCHLD) return false;
  if (facts.signal.sender == facts.keeper || facts.sent_by_tree) return false;
  return !(facts.sent_to_group && facts.job_in_group);
}

LauncherReport wait_for_job(const LauncherTask& task, Fd from_keeper) {
  return Launcher(task, std::move(from_keeper)).run();
}

}  // namespace berth
