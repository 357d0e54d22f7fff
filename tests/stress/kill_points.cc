// Every system call of a claimer and of a waiter as a point of death. The process is traced, and
// killed as it enters its Nth call, for N = 1, 2, … until it gets through. After each death the
// ledger must be readable. A device must not be given away while a process of the job holds the
// inherited descriptor. It must be free once none does.
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>

#include "base/process.h"
#include "stress/jobs.h"

namespace berth::stress {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const TakeSnapshot look_at_eight = [] { return Result<Snapshot>(eight_devices()); };

struct Pipe {
  Fd read_end;
  Fd write_end;
};
Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) give_up("no pipe");
  return {Fd(ends[0]), Fd(ends[1])};
}

/// Returns when all write ends have been closed: nothing is ever written.
void wait_for_end_of(const Pipe& pipe) {
  char none = 0;
  while (::read(pipe.read_end.get(), &none, 1) > 0) {
  }
}

/// The job: holds the inherited descriptor until the proof closes its end of the pipe. Says its pid
/// and the device.
void job_of(const Pipe& alive, const Pipe& said) {
  const pid_t me = ::getpid();
  if (::write(said.write_end.get(), &me, sizeof me) != sizeof me) ::_exit(1);
  wait_for_end_of(alive);
  ::_exit(0);
}

/// As a keeper: gets all eight devices, starts the job, waits for it, ends the lease.
int keeper(const Scene& scene, const Pipe& alive, const Pipe& said) {
  SystemClock clock;
  Ledger ledger = open_ledger(scene, clock);
  auto answer = acquire(ledger, look_at_eight, clock, options_for("killed", 8, seconds(20)));
  if (!answer) give_up(answer.error().message());
  auto* got = std::get_if<Acquired>(&*answer);
  if (got == nullptr) give_up("got nothing");
  const pid_t job = ::fork();
  if (job == 0) job_of(alive, said);
  static_cast<void>(got->lease.describe({.keeper = own_process_id(), .job = ProcessId{job, 1}}));
  int status = 0;
  ::waitpid(job, &status, 0);
  return got->lease.end(ledger) ? 0 : 1;
}

long call_entered(pid_t child) {
  __ptrace_syscall_info info{};
  ::ptrace(PTRACE_GET_SYSCALL_INFO, child, reinterpret_cast<void*>(sizeof info), &info);
  return info.op == PTRACE_SYSCALL_INFO_ENTRY ? static_cast<long>(info.entry.nr) : -1;
}

/// Lets the child run until it enters its `calls`th system call, then kills it there. False: it
/// ended before. `passing` is told of each call that it survives.
bool run_until_call(pid_t child, int calls, const std::function<void(long)>& passing) {
  int status = 0;
  ::waitpid(child, &status, 0);  // the SIGSTOP it raised for us
  ::ptrace(PTRACE_SETOPTIONS, child, nullptr,
           reinterpret_cast<void*>(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
  int entered = 0;
  long signal = 0;
  while (true) {
    ::ptrace(PTRACE_SYSCALL, child, nullptr, reinterpret_cast<void*>(signal));
    if (::waitpid(child, &status, 0) < 0 || WIFEXITED(status) || WIFSIGNALED(status)) {
      expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the traced keeper failed");
      return false;
    }
    const bool at_a_call = WSTOPSIG(status) == (SIGTRAP | 0x80);
    signal = at_a_call || WSTOPSIG(status) == SIGSTOP ? 0 : WSTOPSIG(status);
    const long call = at_a_call ? call_entered(child) : -1;
    if (call < 0) continue;
    if (++entered < calls) {
      passing(call);
      continue;
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    return true;
  }
}

bool is_free(const Scene& scene) {
  SystemClock clock;
  Ledger ledger = open_ledger(scene, clock);
  auto answer = acquire(ledger, look_at_eight, clock, options_for("checks", 8, milliseconds(0)));
  if (!answer) give_up("ledger unusable: " + answer.error().message());
  auto* got = std::get_if<Acquired>(&*answer);
  return got != nullptr && got->lease.end(ledger).has_value();
}

/// Somebody who has all devices until told to let go. A process of its own: a traced one may be
/// stopped while it holds the host lock.
class Holder {
 public:
  explicit Holder(const Scene& scene) {
    Pipe ready = make_pipe();
    child_ = start([&] {
      go_.write_end.close();
      SystemClock clock;
      Ledger ledger = open_ledger(scene, clock);
      auto answer = acquire(ledger, look_at_eight, clock, options_for("first", 8, milliseconds(0)));
      if (!answer || !std::holds_alternative<Acquired>(*answer)) give_up("not free at the start");
      ready.write_end.close();
      ready.read_end.close();
      wait_for_end_of(go_);
      return std::get<Acquired>(*answer).lease.end(ledger) ? 0 : 1;
    });
    ready.write_end.close();
    wait_for_end_of(ready);
  }
  void let_go() { go_.write_end.close(); }
  bool has_been_told() const { return !go_.write_end.is_open(); }
  void finish_it() {
    let_go();
    expect(finish(child_) == 0, "the first holder failed");
  }

 private:
  Pipe go_ = make_pipe();
  pid_t child_ = 0;
};

void check_the_ledger(const Scene& scene, const std::string& when) {
  SystemClock clock;
  const auto view = open_ledger(scene, clock).read();
  expect(view.has_value(), "unreadable ledger after " + when);
  expect(view->problems.empty(), "problems after " + when);
  expect(view->claims.empty() && view->waiters.empty(),
         "a claim or ticket outlived its process after " + when);
  expect(is_free(scene), "not free after " + when);
  // A file that was not published is swept once its writer can no longer be at work.
  for (int tries = 0; tries < 100 && !left_over(scene).empty(); ++tries) {
    clock.wait_until(clock.now() + milliseconds(100));
    expect(is_free(scene), "no more free after " + when);
  }
  expect(left_over(scene).empty(), "not swept after " + when);
}

/// One death. False: the keeper got through.
bool die_at(const Scene& scene, int calls, bool waiter) {
  const std::string when = "a death at call " + std::to_string(calls);
  SystemClock clock;
  const Ledger ledger = open_ledger(scene, clock);
  std::optional<Holder> holder;
  if (waiter) holder.emplace(scene);
  Pipe alive = make_pipe();
  Pipe said = make_pipe();
  const pid_t child = start([&] {
    alive.write_end.close();
    if (holder) holder->let_go();  // this process's copy of the pipe's end
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    return keeper(scene, alive, said);
  });
  alive.read_end.close();
  said.write_end.close();
  const bool died = run_until_call(child, calls, [&](long call) {
    if (call == SYS_wait4) alive.write_end.close();  // the keeper waits: its job ends
    if (holder && !holder->has_been_told() && !ledger.read()->waiters.empty()) holder->let_go();
  });
  pid_t job = 0;
  const bool has_job =
      alive.write_end.is_open() && ::read(said.read_end.get(), &job, sizeof job) == sizeof job;
  if (holder) holder->finish_it();
  if (died && has_job) {
    expect(!is_free(scene), "given away while a process of its job holds it, after " + when);
  }
  alive.write_end.close();
  // Ends when the last process of the job has gone.
  while (::read(said.read_end.get(), &job, sizeof job) > 0) {
  }
  check_the_ledger(scene, when);
  return died;
}

}  // namespace

int kill_points(bool waiter) {
  const Scene scene = make_scene();
  // A first run without a death, to know that tracing works here.
  const pid_t probe =
      start([] { return ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 ? 0 : 1; });
  if (finish(probe) != 0) skip("kill points: ptrace is not permitted here");
  int call = 1;
  while (die_at(scene, call, waiter)) ++call;
  std::printf("kill points: %s killed at each of its %d system calls\n",
              waiter ? "a waiter" : "a claimer", call - 1);
  expect(call > 60, "too few system calls: was it traced at all?");
  remove_scene(scene);
  return 0;
}

}  // namespace berth::stress
