// Verbs on runs that were started elsewhere: stop, wait, logs.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "base/process.h"
#include "base/process_stat.h"
#include "base/text.h"
#include "record/record_writer.h"
#include "record/run_container.h"
#include "record/run_slurm.h"
#include "run/container/left.h"
#include "run/run.h"
#include "run/tree.h"

namespace berth {

namespace {

using std::chrono::milliseconds;

constexpr Duration look_pause = milliseconds(50);
constexpr Duration kill_patience = std::chrono::seconds(5);
constexpr Duration heir_patience = std::chrono::seconds(5);

/// Another user's record may name any process. Only that user's own processes can be of the run.
bool is_somebody_elses(const ProcessId& process, const RunRecord& run, const std::string& proc) {
  if (run.owner.uid == ::geteuid()) return false;
  return user_of(process.pid, proc) != run.owner.uid;
}

/// Whether this process that the record names is there. What a record says its owner may have
/// written by hand: root is not to be sent after somebody else.
bool is_there(const RunRecord& run, const ProcessId& process, const std::string& proc) {
  return process.pid > 0 && lives(process, proc) && !is_somebody_elses(process, run, proc);
}

/// A run as it is now: a keeper that was killed has left its place to another.
RunRecord as_of_now(const RunRecord& run) {
  if (run.directory.empty()) return run;
  auto now = read_run(run.directory, run.owner);
  return now ? *std::move(now) : run;
}

void add(const std::vector<ProcessId>& more, std::vector<ProcessId>& processes) {
  processes.insert(processes.end(), more.begin(), more.end());
}

/// What is left of the run: descendants of its keeper and of its job, and processes that carry its
/// name.
std::vector<ProcessId> left_of(const RunRecord& run, const std::string& proc) {
  const ProcessId& keeper = run.manifest.keeper;
  std::vector<ProcessId> left;
  const bool keeper_lives = is_there(run, keeper, proc);
  if (keeper_lives) left = run_processes(keeper.pid, proc);
  if (run.manifest.job && is_there(run, *run.manifest.job, proc)) {
    add(descendants_of(run.manifest.job->pid, proc), left);
    left.push_back(*run.manifest.job);
  }
  for (const ProcessId& named : processes_named_for(run.manifest.id, ::getpid(), proc)) {
    // A keeper of a run inside this one lives in a session of its own; our own is spared.
    if (keeper_lives && named.pid == keeper.pid) continue;
    left.push_back(named);
  }
  std::sort(left.begin(), left.end());
  left.erase(std::unique(left.begin(), left.end()), left.end());
  std::erase_if(left, [&](const ProcessId& one) {
    return one.pid == ::getpid() || is_somebody_elses(one, run, proc);
  });
  return left;
}

/// `nobody` means more than that nobody is seen. Either a living keeper would see them, or no
/// keeper keeps the run any more.
enum class Left { nobody, somebody, unknown };

/// Its keeper was killed, and another process that holds its record has yet to take its place.
bool is_between_keepers(const RunRecord& now, const std::string& proc) {
  if (is_there(now, now.manifest.keeper, proc)) return false;
  return !now.directory.empty() && is_kept(now);
}

Left look_for(const RunRecord& run, const std::string& proc) {
  const RunRecord now = as_of_now(run);
  if (!left_of(now, proc).empty()) return Left::somebody;
  return is_between_keepers(now, proc) ? Left::unknown : Left::nobody;
}

Left left_by(Clock& clock, Instant deadline, const RunRecord& run, const std::string& proc) {
  for (;;) {
    const Left left = look_for(run, proc);
    if (left == Left::nobody || clock.now() >= deadline) return left;
    clock.wait_until(std::min(deadline, clock.now() + look_pause));
  }
}

bool is_gone_by(Clock& clock, Instant deadline, const RunRecord& run, const std::string& proc) {
  return left_by(clock, deadline, run, proc) == Left::nobody;
}

/// An heir needs a moment to find the job that a killed keeper left. Until then only the job itself
/// may be seen, and not the processes that left it. Those would get no SIGTERM, and be killed later
/// unasked.
Result<void> wait_for_heir(const RunRecord& run, Clock& clock, const std::string& proc) {
  const Instant deadline = clock.now() + heir_patience;
  while (is_between_keepers(as_of_now(run), proc)) {
    if (clock.now() < deadline) {
      clock.wait_until(clock.now() + look_pause);
      continue;
    }
    if (look_for(run, proc) != Left::unknown) break;  // who is seen can be ended
    return fail(ErrorCode::timeout,
                "the keeper of run {} was killed, and the process that is to take its place is "
                "stopped or stuck. What is left of the job cannot be told from others until then. "
                "`berth support` shows that process, `kill -CONT` continues one that is stopped",
                run.manifest.id);
  }
  return {};
}

/// After that --retry-on may start the job again.
bool has_lost_its_device(const RunRecord& run) {
  if (run.directory.empty()) return false;
  const auto events = events_of(run);
  return std::any_of(events.begin(), events.end(),
                     [](const RunEvent& event) { return event.kind.starts_with("gpu_"); });
}

/// Tells the keeper why its job ends. Without it the record says only how. A follower restarts jobs
/// after a fault of their device, and would start this one again.
Result<void> note_stop_request_of(const RunRecord& run, milliseconds grace) {
  if (run.directory.empty()) return {};
  const OwnersRights rights(run.owner);
  if (!rights.are_there()) {
    return fail(ErrorCode::no_permission, "root may not take its owner's rights here");
  }
  return note_stop_request(run.directory, grace);
}

/// The container of a run that has one, where it may live still.
std::optional<RunContainer> living_container_of(const RunRecord& run) {
  auto container = run_container_in(run.directory);
  if (!container || container->id.empty() || container->ended) return std::nullopt;
  return container;
}

/// Its keeper asks the engine to end it, and kills it when its time is over. True: it has ended.
bool container_is_gone_by(Clock& clock, Instant deadline, const RunRecord& run) {
  while (living_container_of(run)) {
    if (clock.now() >= deadline) return false;
    clock.wait_until(clock.now() + look_pause);
  }
  return true;
}

/// What a killed container ends with, as its engine has it.
bool was_killed(const RunRecord& run) {
  const auto container = run_container_in(run.directory);
  return container && container->exit_code.get() &&
         *container->exit_code.get() == shell_exit_code({.signal = SIGKILL});
}

/// Asks for the job itself where that is known. Else the run lives until no process has its name.
bool still_runs(const RunRecord& run, const std::string& proc) {
  return run.manifest.job ? lives(*run.manifest.job, proc) : look_for(run, proc) != Left::nobody;
}

/// If a run has no record, only the fact that it has ended is ever known.
Result<Exit> wait_without_record(const RunRecord& run, Clock& clock,
                                 const std::function<bool()>& interrupted) {
  Duration pause = milliseconds(20);
  while (still_runs(run, "/proc")) {
    if (interrupted && interrupted()) return fail(ErrorCode::busy, "interrupted while waiting");
    clock.wait_until(clock.now() + pause);
    pause = std::min<Duration>(pause * 2, milliseconds(500));
  }
  return fail(ErrorCode::not_found,
              "run {} has ended; how is unknown. It has no record, as its state directory could "
              "not be written when it started",
              run.manifest.id);
}

/// A waiting run is one process without a job, and looks at devices through children of its own. It
/// may get its device just then. What it has started is then stopped as any other.
Result<StopResult> stop_waiting(const RunRecord& run, milliseconds grace, Clock& clock,
                                const std::string& proc) {
  if (const auto noted = note_stop_request_of(run, grace); !noted) {
    return std::unexpected(noted.error());
  }
  const ProcessId waiter = run.manifest.keeper;
  if (!is_there(run, waiter, proc)) return StopResult::had_ended;
  signal_all({waiter}, SIGTERM);
  signal_all({waiter}, SIGCONT);  // a stopped process could not end
  const Instant deadline = clock.now() + grace;
  for (;;) {
    const auto now = read_run(run.directory, run.owner);
    if (!now) return std::unexpected(now.error());
    if (now->state == RunState::running) return stop_run(*now, grace, clock, proc);
    if (now->state != RunState::waiting) return StopResult::ended_by_term;
    if (clock.now() >= deadline) break;
    clock.wait_until(std::min(deadline, clock.now() + look_pause));
  }
  if (is_there(run, waiter, proc)) signal_all({waiter}, SIGKILL);
  return StopResult::ended_by_kill;
}

/// To end the engine's client alone would leave the container, and its card, to nobody.
Result<StopResult> stop_container_of(const RunRecord& run, const RunContainer& container,
                                     milliseconds grace, Clock& clock, const std::string& proc) {
  const ProcessId keeper = as_of_now(run).manifest.keeper;
  if (!is_there(run, keeper, proc)) return end_left_container(run, container, grace, clock);
  signal_all({keeper}, SIGCONT);  // it reads the request then
  constexpr Duration engine_patience = std::chrono::seconds(30);
  if (!container_is_gone_by(clock, clock.now() + grace + engine_patience, run)) {
    return fail(ErrorCode::timeout,
                "container {} of run {} does not end: {} does not end it. The run keeps its "
                "devices until it does",
                short_container_id(container.id), run.manifest.id, container.engine);
  }
  (void)is_gone_by(clock, clock.now() + kill_patience, run, proc);  // its client, and its keeper
  return was_killed(run) ? StopResult::ended_by_kill : StopResult::ended_by_term;
}

}  // namespace

Result<StopResult> stop_run(const RunRecord& run, milliseconds grace, Clock& clock,
                            const std::string& proc) {
  if (run.state == RunState::elsewhere) {
    return fail(ErrorCode::unsupported, "run {} is on another machine: stop it there",
                run.manifest.id);
  }
  if (run.manifest.uid != ::getuid() && ::getuid() != 0) {
    return fail(ErrorCode::no_permission, "run {} is {}'s: only they can stop it", run.manifest.id,
                run.manifest.user);
  }
  if (run.state == RunState::waiting) return stop_waiting(run, grace, clock, proc);
  std::vector<ProcessId> left;
  do {
    if (const auto heir = wait_for_heir(run, clock, proc); !heir) {
      return std::unexpected(heir.error());
    }
    // A stopped keeper could give nothing back.
    const ProcessId keeper = as_of_now(run).manifest.keeper;
    if (is_there(run, keeper, proc)) signal_all({keeper}, SIGCONT);
    left = left_of(as_of_now(run), proc);
    // One that was killed while we looked has left nobody to be seen.
  } while (left.empty() && is_between_keepers(as_of_now(run), proc));
  const bool may_come_again = has_lost_its_device(run);
  const bool has_container = living_container_of(run).has_value();
  if (left.empty() && !may_come_again && !has_container) return StopResult::had_ended;
  const auto noted = note_stop_request_of(run, grace);
  if (!noted && may_come_again) {
    return fail(noted.error().code(),
                "that run {} is to end cannot be noted, and with --retry-on it would be started "
                "again ({}). Make room, or end its `berth run`",
                run.manifest.id, noted.error().said());
  }
  if (const auto container = living_container_of(run)) {
    if (!noted) return std::unexpected(noted.error());
    return stop_container_of(run, *container, grace, clock, proc);
  }
  if (left.empty()) return StopResult::not_again;
  signal_all(left, SIGTERM);
  signal_all(left, SIGCONT);  // a stopped process could not end
  if (is_gone_by(clock, clock.now() + grace, run, proc)) return StopResult::ended_by_term;
  const Instant deadline = clock.now() + kill_patience;
  while (clock.now() < deadline) {
    signal_all(left_of(as_of_now(run), proc), SIGKILL);
    if (is_gone_by(clock, clock.now() + look_pause, run, proc)) return StopResult::ended_by_kill;
  }
  left = left_of(as_of_now(run), proc);
  if (left.empty()) {
    const auto heir = wait_for_heir(run, clock, proc);
    return heir ? Result<StopResult>(StopResult::ended_by_kill) : std::unexpected(heir.error());
  }
  const auto sent = send_signal(left.front(), SIGKILL);
  if (!sent && sent.error().code() == ErrorCode::no_permission) {
    return fail(ErrorCode::no_permission,
                "process {} of run {} is another user's by now (sudo?): only they or root can end "
                "it. Until then it keeps what it holds",
                left.front().pid, run.manifest.id);
  }
  return fail(ErrorCode::timeout,
              "process {} of run {} does not end even by SIGKILL: it hangs in the kernel (driver, "
              "network file system). Until it ends it keeps what it holds",
              left.front().pid, run.manifest.id);
}

Result<StopResult> stop_run_and_begun(const std::string& state_directory, const RunRecord& run,
                                      milliseconds grace, Clock& clock) {
  const auto all =
      run.manifest.lease.empty() ? Result<RunList>(RunList()) : list_runs(state_directory);
  const auto own = run_processes(run.manifest.keeper.pid, "/proc");
  for (const RunRecord& other : all ? all->runs : std::vector<RunRecord>()) {
    const auto within = split(other.manifest.inside, '/');
    const bool is_begun_in = std::ranges::find(within, run.manifest.lease) != within.end();
    const bool is_under_way = other.state == RunState::running || other.state == RunState::waiting;
    // What it has started itself ends with it.
    const bool is_its = std::ranges::find(own, other.manifest.keeper) != own.end();
    if (!is_begun_in || !is_under_way || is_its || other.owner.uid != run.owner.uid) continue;
    const auto stopped = stop_run(other, grace, clock);
    if (!stopped) {
      return std::unexpected(Error(stopped.error())
                                 .because("run {} keeps its devices: {}, begun in it, does not end",
                                          run.manifest.id, other.manifest.id));
    }
  }
  return stop_run(run, grace, clock);
}

Result<Exit> wait_for_run(const RunRecord& run, Clock& clock,
                          const std::function<bool()>& interrupted) {
  if (run.directory.empty()) return wait_without_record(run, clock, interrupted);
  Duration pause = milliseconds(20);
  for (;;) {
    const auto now = read_run(run.directory, run.owner);
    if (!now) return std::unexpected(now.error());
    if (now->state == RunState::ended && now->end) return now->end->exit;
    if (now->state == RunState::end_unknown) {
      return fail(ErrorCode::not_found,
                  "how run {} ended is unknown: its keeper did not record it (killed, or the disk "
                  "was full)",
                  run.manifest.id);
    }
    if (interrupted && interrupted()) return fail(ErrorCode::busy, "interrupted while waiting");
    clock.wait_until(clock.now() + pause);
    pause = std::min<Duration>(pause * 2, milliseconds(500));
  }
}

namespace {
/// Its node writes how it ends into the record that we read.
bool is_by_slurm_elsewhere(const RunRecord& run) {
  return run.state == RunState::elsewhere && run_slurm_in(run.directory);
}
}  // namespace

Result<void> read_log(const RunRecord& run, Follow follow, Clock& clock,
                      const std::function<void(std::string_view)>& print,
                      const std::function<bool()>& interrupted) {
  const auto fd = open_log(run);
  if (!fd) return std::unexpected(fd.error());
  std::array<char, 16384> piece{};
  bool is_last_look = follow == Follow::no;
  for (;;) {
    const ssize_t got = ::read(fd->get(), piece.data(), piece.size());
    if (got < 0) return fail_system(errno, "read {}", *run.manifest.log);
    if (got > 0) {
      print({piece.data(), static_cast<std::size_t>(got)});
      continue;
    }
    if (is_last_look || (interrupted && interrupted())) return {};
    // What was written between the last read and the end is read once more.
    const auto now = read_run(run.directory, run.owner);
    const bool goes_on = now && (now->state == RunState::running ||
                                 now->state == RunState::waiting || is_by_slurm_elsewhere(*now));
    is_last_look = !goes_on || (now->end && now->end->released.has_value());
    if (!is_last_look) clock.wait_until(clock.now() + milliseconds(200));
  }
}

}  // namespace berth
