#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <initializer_list>

#include "base/process.h"
#include "base/process_stat.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/variables.h"

namespace berth {

namespace {

// x86-64 and arm64 share these numbers; the glibc wrappers are newer than glibc 2.35.
constexpr long pidfd_send_signal_number = 424;
constexpr long pidfd_open_number = 434;

std::vector<char*> as_argv(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

Exit exit_from_status(int status) {
  if (WIFSIGNALED(status)) {
    return {.code = 0, .signal = WTERMSIG(status), .dumped = WCOREDUMP(status) != 0};
  }
  return {.code = WEXITSTATUS(status)};
}

}  // namespace

int shell_exit_code(const Exit& exit) { return exit.signal != 0 ? 128 + exit.signal : exit.code; }

ProcessId own_process_id() {
  const auto self = identify_process(::getpid());
  return self ? *self : ProcessId{.pid = ::getpid()};
}

Result<ProcessId> identify_process(pid_t pid, const std::string& proc) {
  const auto stat = read_file(proc + "/" + std::to_string(pid) + "/stat");
  if (!stat) return std::unexpected(stat.error());
  const auto parsed = parse_process_stat(*stat);
  if (!parsed) return fail(ErrorCode::invalid, "unreadable line in /proc/PID/stat");
  return ProcessId{.pid = pid, .start_ticks = parsed->id.start_ticks};
}

void end_process_now(int code) {
  std::fflush(nullptr);
  ::_exit(code);
}

Result<pid_t> fork_process(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child < 0) return fail_system(errno, "start a process");
  if (child > 0) return child;
  int code = 70;
  try {
    code = body();
  } catch (const std::exception&) {
    code = 70;  // EX_SOFTWARE: a library threw where the body did not expect it
  }
  ::_exit(code);
}

Result<Fd> open_pidfd(pid_t pid) {
  const long fd = ::syscall(pidfd_open_number, pid, 0);
  if (fd < 0) return fail_system(errno, "open a pidfd for process {}", pid);
  return Fd(static_cast<int>(fd));
}

namespace {
/// Whether the pid is still this process's.
Result<void> is_still(ProcessId process) {
  const std::string name = "process " + std::to_string(process.pid);
  if (process.pid <= 0 || process.start_ticks == 0) {
    return fail(ErrorCode::invalid,
                "{} cannot be told from another with its number: when it started is not known",
                name);
  }
  const auto now = identify_process(process.pid);
  if (!now || now->start_ticks != process.start_ticks) {
    return fail(ErrorCode::not_found, "{} has ended", name);
  }
  return {};
}
}  // namespace

Result<void> send_signal(ProcessId process, int signal) {
  auto fd = open_pidfd(process.pid);
  if (!fd && fd.error().code() == ErrorCode::not_found) {
    return fail(ErrorCode::not_found, "process {} has ended", process.pid);
  }
  if (auto still = is_still(process); !still) return still;
  const long sent = fd ? ::syscall(pidfd_send_signal_number, fd->get(), signal, nullptr, 0)
                       : ::kill(process.pid, signal);
  if (sent != 0) return fail_system(errno, "signal process {}", process.pid);
  return {};
}

Result<void> signal_child(pid_t child, int signal) {
  if (child <= 0) return fail(ErrorCode::invalid, "there is no process {}", child);
  if (::kill(child, signal) == 0) return {};
  return fail_system(errno, "signal process {}", child);
}

Result<void> set_nice(ProcessId process, int nice) {
  // There is no pidfd for this: the start time is compared as late as can be.
  if (auto still = is_still(process); !still) return still;
  if (::setpriority(PRIO_PROCESS, static_cast<id_t>(process.pid), nice) == 0) return {};
  return fail_system(errno, "set the nice value of process {}", process.pid);
}

Result<Exit> reap(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return fail_system(errno, "wait for process {}", child);
  }
  return exit_from_status(status);
}

Result<std::optional<Exit>> reap_if_ended(pid_t child) {
  int status = 0;
  const pid_t ended = ::waitpid(child, &status, WNOHANG);
  if (ended < 0) return fail_system(errno, "wait for process {}", child);
  if (ended == 0) return std::optional<Exit>();
  return std::optional(exit_from_status(status));
}

namespace {
/// As waitid(2), whose signals do not interrupt it; false: nothing has changed.
bool wait_for_change(idtype_t kind, pid_t child, int flags, siginfo_t& info) {
  info = {};
  int got = 0;
  do {
    got = ::waitid(kind, static_cast<id_t>(child), &info, flags);
  } while (got != 0 && errno == EINTR);
  return got == 0 && info.si_pid != 0;
}

ChildChange change_from(const siginfo_t& info) {
  ChildChange change{.pid = info.si_pid};
  switch (info.si_code) {
    case CLD_STOPPED:
    case CLD_TRAPPED:
      change.what = ChildChange::What::stopped;
      change.stop_signal = info.si_status;
      break;
    case CLD_CONTINUED:
      change.what = ChildChange::What::continued;
      break;
    case CLD_EXITED:
      change.exit = {.code = info.si_status};
      break;
    default:
      change.exit = {.signal = info.si_status, .dumped = info.si_code == CLD_DUMPED};
  }
  return change;
}
}  // namespace

Result<Exit> await_end(pid_t child) {
  siginfo_t info{};
  if (wait_for_change(P_PID, child, WEXITED | WNOWAIT, info)) return change_from(info).exit;
  return fail_system(errno, "wait for process {}", child);
}

std::optional<ChildChange> next_child_change(
    const std::function<void(const ChildChange&)>& before_reaping) {
  constexpr int changes = WEXITED | WSTOPPED | WCONTINUED | WNOHANG;
  siginfo_t info{};
  if (!wait_for_change(P_ALL, 0, before_reaping ? changes | WNOWAIT : changes, info)) {
    return std::nullopt;
  }
  const ChildChange change = change_from(info);
  if (!before_reaping) return change;
  using What = ChildChange::What;
  if (change.what == What::ended) before_reaping(change);
  // This change alone: what has happened to it since comes next.
  const int which = change.what == What::ended     ? WEXITED
                    : change.what == What::stopped ? WSTOPPED
                                                   : WCONTINUED;
  (void)wait_for_change(P_PID, change.pid, which | WNOHANG, info);
  return change;
}

bool has_no_child() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
}

std::chrono::milliseconds children_cpu_time() {
  rusage used{};
  ::getrusage(RUSAGE_CHILDREN, &used);
  const auto of = [](const timeval& time) {
    return std::chrono::milliseconds(time.tv_sec * 1000 + time.tv_usec / 1000);
  };
  return of(used.ru_utime) + of(used.ru_stime);
}

Result<void> adopt_orphans() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
    return fail_system(errno, "become the reaper of orphaned descendants");
  }
  return {};
}

Result<void> start_session() {
  if (::setsid() < 0) return fail_system(errno, "start a session");
  return {};
}

Result<void> die_with_parent(pid_t parent) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) {
    return fail_system(errno, "ask to die with the parent");
  }
  if (::getppid() != parent) return fail(ErrorCode::not_found, "the parent has ended");
  return {};
}

pid_t process_group_of(pid_t pid) { return ::getpgid(pid); }

namespace {
Result<void> replace_by_null(std::initializer_list<int> streams) {
  auto null = open_fd("/dev/null", O_RDWR);
  if (!null) return std::unexpected(std::move(null).error());
  bool keep = false;  // it took the number of a stream that was closed
  for (const int stream : streams) {
    if (null->get() == stream) {
      keep = true;
    } else if (::dup2(null->get(), stream) < 0) {
      return fail_system(errno, "put /dev/null in place of a standard stream");
    }
  }
  // As the others, made by dup2(), it is there for what is executed as well.
  return keep ? keep_on_exec(null->release()) : Result<void>();
}
}  // namespace

Result<void> close_standard_streams() { return replace_by_null({0, 1, 2}); }
Result<void> close_input_and_output() { return replace_by_null({0, 1}); }

Result<void> fill_closed_streams() {
  for (const int stream : {0, 1, 2}) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    if (auto filled = replace_by_null({stream}); !filled) return filled;
  }
  return {};
}

void close_descriptors(const std::vector<int>& except) {
  const auto names = list_directory("/proc/self/fd");
  if (!names) return;
  for (const std::string& name : *names) {
    const auto number = parse_unsigned(name);
    if (!number || *number < 3) continue;
    const int fd = static_cast<int>(*number);
    if (std::find(except.begin(), except.end(), fd) == except.end()) ::close(fd);
  }
}

void close_inherited_descriptors() {
  const auto names = list_directory("/proc/self/fd");
  if (!names) return;
  for (const std::string& name : *names) {
    const auto number = parse_unsigned(name);
    if (!number || *number < 3) continue;
    const int fd = static_cast<int>(*number);
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) ::close(fd);
  }
}

Result<void> keep_on_exec(int fd) {
  const int flags = ::fcntl(fd, F_GETFD);
  if (flags < 0 || ::fcntl(fd, F_SETFD, flags & ~FD_CLOEXEC) != 0) {
    return fail_system(errno, "keep a descriptor over exec");
  }
  return {};
}

namespace {
/// The same at a number that no standard stream has: we may have been started with some closed.
Result<Fd> beside_standard_streams(Fd fd) {
  if (fd.get() > 2) return fd;
  const int moved = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3);
  if (moved < 0) return fail_system(errno, "make a pipe");
  return Fd(moved);
}
Result<Pipe> pipe_of(const int (&ends)[2]) {
  auto write = beside_standard_streams(Fd(ends[1]));
  auto read = beside_standard_streams(Fd(ends[0]));
  if (!read) return std::unexpected(std::move(read).error());
  if (!write) return std::unexpected(std::move(write).error());
  return Pipe{.read = std::move(*read), .write = std::move(*write)};
}

}  // namespace

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_system(errno, "make a pipe");
  return pipe_of(ends);
}

Error execute(const std::vector<std::string>& command, const std::vector<std::string>& environment,
              const std::string& search_path) {
  const auto path = find_executable(command.at(0), search_path);
  if (!path) return path.error();
  const auto argv = as_argv(command);
  const auto envp = as_argv(environment);
  ::execve(path->c_str(), argv.data(), envp.data());
  if (errno == ENOEXEC) {  // a script without "#!": what every shell does
    std::vector<std::string> by_shell = {"sh", *path};
    by_shell.insert(by_shell.end(), command.begin() + 1, command.end());
    const auto shell_argv = as_argv(by_shell);
    ::execve("/bin/sh", shell_argv.data(), envp.data());
  }
  return system_error(errno, "run {}", *path);
}

std::string search_path_in(const std::vector<std::string>& environment) {
  return value_of(environment, "PATH").value_or(default_search_path);
}

std::optional<std::string> own_program(const std::string& link) {
  constexpr std::string_view deleted = " (deleted)";
  const auto path = read_link(link);
  if (!path) return std::nullopt;
  if (is_there(*path)) return *path;
  if (!path->ends_with(deleted)) return std::nullopt;
  const std::string before = path->substr(0, path->size() - deleted.size());
  return is_there(before) ? std::optional(before) : std::nullopt;
}

Result<std::string> find_executable(const std::string& name, const std::string& search_path) {
  if (name.find('/') != std::string::npos) {
    struct stat facts{};
    if (::stat(name.c_str(), &facts) != 0) return fail_system(errno, "run {}", name);
    if (S_ISDIR(facts.st_mode)) {
      return fail(ErrorCode::no_permission, "cannot run {}: it is a directory", name);
    }
    if (::access(name.c_str(), X_OK) != 0) return fail_system(errno, "run {}", name);
    return name;
  }
  bool denied = false;
  for (const std::string_view part : split(search_path, ':')) {
    const std::string candidate = (part.empty() ? "." : std::string(part)) + "/" + name;
    struct stat facts{};
    if (::stat(candidate.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    denied = true;
  }
  if (denied) {
    return fail(ErrorCode::no_permission, "cannot run {}: the file is not executable", name);
  }
  return fail(ErrorCode::not_found, "cannot run {}: no such command in PATH", name);
}

}  // namespace berth
