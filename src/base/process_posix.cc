#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>

#include "base/process.h"
#include "base/text.h"

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
    return {.code = 0, .signal = WTERMSIG(status), .dumped = WCOREDUMP(status)};
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
  // The command in parentheses may hold spaces and parentheses: fields count from the last ')'.
  const std::size_t close = stat->rfind(')');
  if (close == std::string::npos) return fail(ErrorCode::invalid, "unreadable /proc stat line");
  const auto fields = split(trimmed(std::string_view(*stat).substr(close + 1)), ' ');
  constexpr std::size_t start_time = 22 - 3;  // the state is field 3
  if (fields.size() <= start_time) return fail(ErrorCode::invalid, "short /proc stat line");
  const auto ticks = parse_unsigned(fields[start_time]);
  if (!ticks) return fail(ErrorCode::invalid, "unreadable start time in /proc stat");
  return ProcessId{.pid = pid, .start_ticks = *ticks};
}

Result<pid_t> fork_process(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child < 0) return fail_system("start a process", errno);
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
  if (fd < 0) return fail_system("open a pidfd for process " + std::to_string(pid), errno);
  return Fd(static_cast<int>(fd));
}

Result<void> send_signal(ProcessId process, int signal) {
  const std::string what = "signal process " + std::to_string(process.pid);
  auto fd = open_pidfd(process.pid);
  if (!fd && fd.error().code() == ErrorCode::not_found) {
    return std::unexpected(std::move(fd).error());
  }
  if (process.start_ticks != 0) {
    const auto now = identify_process(process.pid);
    if (!now || now->start_ticks != process.start_ticks) {
      return fail(ErrorCode::not_found, "process " + std::to_string(process.pid) + " has ended");
    }
  }
  const long sent = fd ? ::syscall(pidfd_send_signal_number, fd->get(), signal, nullptr, 0)
                       : ::kill(process.pid, signal);
  if (sent != 0) return fail_system(what, errno);
  return {};
}

Result<void> send_signal_to_group(pid_t group, int signal) {
  if (::kill(-group, signal) != 0) {
    return fail_system("signal process group " + std::to_string(group), errno);
  }
  return {};
}

Result<Exit> reap(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return fail_system("wait for process " + std::to_string(child), errno);
  }
  return exit_from_status(status);
}

Result<std::optional<Exit>> reap_if_ended(pid_t child) {
  int status = 0;
  const pid_t ended = ::waitpid(child, &status, WNOHANG);
  if (ended < 0) return fail_system("wait for process " + std::to_string(child), errno);
  if (ended == 0) return std::optional<Exit>();
  return std::optional(exit_from_status(status));
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
  return system_error("run " + *path, errno);
}

Result<std::string> find_executable(const std::string& name, const std::string& search_path) {
  if (name.find('/') != std::string::npos) {
    struct stat facts{};
    if (::stat(name.c_str(), &facts) != 0) return fail_system("run " + name, errno);
    if (S_ISDIR(facts.st_mode)) {
      return fail(ErrorCode::no_permission, "cannot run " + name + ": it is a directory");
    }
    if (::access(name.c_str(), X_OK) != 0) return fail_system("run " + name, errno);
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
    return fail(ErrorCode::no_permission, "cannot run " + name + ": the file is not executable");
  }
  return fail(ErrorCode::not_found, "cannot run " + name + ": no such command in PATH");
}

}  // namespace berth
