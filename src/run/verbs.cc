// Verbs on runs that were started elsewhere: stop, wait, logs.

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/process.h"
#include "record/record_writer.h"
#include "run/run.h"
#include "run/tree.h"

namespace berth {

namespace {

using std::chrono::milliseconds;

constexpr Duration look_pause = milliseconds(50);
constexpr Duration kill_patience = std::chrono::seconds(5);

/// Another user's record may name any process; those of the run are his.
bool is_somebody_elses(const ProcessId& process, const RunRecord& run, const std::string& proc) {
  if (run.owner.uid == ::geteuid()) return false;
  struct stat facts{};
  const std::string folder = proc + "/" + std::to_string(process.pid);
  return ::stat(folder.c_str(), &facts) != 0 || facts.st_uid != run.owner.uid;
}

/// Who is left of the run: descendants of its keeper, and whoever carries its name.
std::vector<ProcessId> left_of(const RunRecord& run, const std::string& proc) {
  const ProcessId& keeper = run.manifest.keeper;
  std::vector<ProcessId> left;
  const auto living = identify_process(keeper.pid, proc);
  const bool keeper_lives = keeper.pid > 0 && living && *living == keeper;
  if (keeper_lives) left = run_processes(keeper.pid, proc);
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

bool is_gone_by(Clock& clock, Instant deadline, const RunRecord& run, const std::string& proc) {
  for (;;) {
    if (left_of(run, proc).empty()) return true;
    if (clock.now() >= deadline) return false;
    clock.wait_until(std::min(deadline, clock.now() + look_pause));
  }
}

/// After that --retry-on may start the job again.
bool has_lost_its_device(const RunRecord& run) {
  if (run.directory.empty()) return false;
  const auto events = events_of(run);
  return std::any_of(events.begin(), events.end(),
                     [](const RunEvent& event) { return event.kind.starts_with("gpu_"); });
}

std::string path_in(const RunRecord& run, std::string_view file) {
  return run.directory + "/" + std::string(file);
}

/// Tells the keeper why its job ends: without it the record says only how, and whoever is to start
/// the job again after a fault of its device does.
Result<void> note_stop_wish(const RunRecord& run) {
  if (run.directory.empty()) return {};
  const OwnersRights rights(run.owner);
  if (!rights.are_there()) {
    return fail(ErrorCode::no_permission, "root may not take its owner's rights here");
  }
  return write_file_atomically(path_in(run, record_file::stop_wish), "stopped\n", 0600);
}

/// By the job itself where that is known, else until nobody carries the run's name.
bool job_lives(const RunRecord& run, const std::string& proc) {
  if (!run.manifest.job) return !left_of(run, proc).empty();
  const auto living = identify_process(run.manifest.job->pid, proc);
  return living && *living == *run.manifest.job;
}

/// Of a run without a record only that it has ended is ever known.
Result<Exit> wait_without_record(const RunRecord& run, Clock& clock,
                                 const std::function<bool()>& interrupted) {
  Duration pause = milliseconds(20);
  while (job_lives(run, "/proc")) {
    if (interrupted && interrupted()) return fail(ErrorCode::busy, "interrupted while waiting");
    clock.wait_until(clock.now() + pause);
    pause = std::min<Duration>(pause * 2, milliseconds(500));
  }
  return fail(ErrorCode::not_found, "run " + run.manifest.id +
                                        " has ended; how is unknown: it has no record, as its "
                                        "state directory could not be written when it started");
}

}  // namespace

Result<StopResult> stop_run(const RunRecord& run, milliseconds grace, Clock& clock,
                            const std::string& proc) {
  if (run.state == RunState::elsewhere) {
    return fail(ErrorCode::unsupported,
                "run " + run.manifest.id + " is on another machine: stop it there");
  }
  if (run.manifest.uid != ::getuid() && ::getuid() != 0) {
    return fail(ErrorCode::no_permission, "run " + run.manifest.id + " is " + run.manifest.user +
                                              "'s: only they can stop it");
  }
  auto left = left_of(run, proc);
  const bool may_come_again = has_lost_its_device(run);
  if (left.empty() && !may_come_again) return StopResult::had_ended;
  const auto noted = note_stop_wish(run);
  if (!noted && may_come_again) {
    return fail(
        noted.error().code(),
        fmt::format("that run {} is to end cannot be noted, and with --retry-on it would be "
                    "started again ({}): make room, or end its `berth run`",
                    run.manifest.id, noted.error().message()));
  }
  if (left.empty()) return StopResult::not_again;
  signal_all(left, SIGTERM);
  signal_all(left, SIGCONT);  // a stopped process could not end
  if (is_gone_by(clock, clock.now() + grace, run, proc)) return StopResult::ended_by_term;
  const Instant deadline = clock.now() + kill_patience;
  while (clock.now() < deadline) {
    signal_all(left_of(run, proc), SIGKILL);
    if (is_gone_by(clock, clock.now() + look_pause, run, proc)) return StopResult::ended_by_kill;
  }
  left = left_of(run, proc);
  if (left.empty()) return StopResult::ended_by_kill;
  return fail(
      ErrorCode::timeout,
      fmt::format("process {} of run {} does not end even by SIGKILL: it hangs in the kernel "
                  "(a driver or a network file system); it keeps what it holds until then",
                  left.front().pid, run.manifest.id));
}

Result<Exit> wait_for_run(const RunRecord& run, Clock& clock,
                          const std::function<bool()>& interrupted) {
  if (run.directory.empty()) return wait_without_record(run, clock, interrupted);
  Duration pause = milliseconds(20);
  for (;;) {
    const auto now = read_run(run.directory);
    if (!now) return std::unexpected(now.error());
    if (now->state == RunState::ended && now->end) return now->end->exit;
    if (now->state == RunState::end_unknown) {
      return fail(
          ErrorCode::not_found,
          "how run " + run.manifest.id +
              " ended is unknown: its keeper did not record it (killed, or the disk was full)");
    }
    if (interrupted && interrupted()) return fail(ErrorCode::busy, "interrupted while waiting");
    clock.wait_until(clock.now() + pause);
    pause = std::min<Duration>(pause * 2, milliseconds(500));
  }
}

Result<void> read_log(const RunRecord& run, Follow follow, Clock& clock,
                      const std::function<void(std::string_view)>& print,
                      const std::function<bool()>& interrupted) {
  const auto fd = open_log(run);
  if (!fd) return std::unexpected(fd.error());
  std::array<char, 16384> piece{};
  bool is_last_look = follow == Follow::no;
  for (;;) {
    const ssize_t got = ::read(fd->get(), piece.data(), piece.size());
    if (got < 0) return fail_system("read " + *run.manifest.log, errno);
    if (got > 0) {
      print({piece.data(), static_cast<std::size_t>(got)});
      continue;
    }
    if (is_last_look || (interrupted && interrupted())) return {};
    // What was written between the last read and the end is read once more.
    const auto now = read_run(run.directory);
    is_last_look =
        !now || now->state != RunState::running || (now->end && now->end->released.has_value());
    if (!is_last_look) clock.wait_until(clock.now() + milliseconds(200));
  }
}

}  // namespace berth
