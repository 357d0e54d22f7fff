#include "run/own_processes.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/fd.h"
#include "base/lock.h"
#include "base/process.h"
#include "base/process_stat.h"
#include "base/text.h"
#include "record/run_record.h"
#include "run/tree.h"

namespace berth {

namespace {

constexpr Duration waits_patience = std::chrono::seconds(20);
constexpr std::size_t most_descriptors = 64;

/// System calls in which a process of berth's may stay. Numbers are this machine's.
constexpr auto call_names = std::to_array<std::pair<long, std::string_view>>({
    {SYS_read, "read"},
    {SYS_write, "write"},
    {SYS_openat, "openat"},
    {SYS_close, "close"},
    {SYS_ioctl, "ioctl"},
    {SYS_fcntl, "fcntl"},
    {SYS_flock, "flock"},
    {SYS_fsync, "fsync"},
    {SYS_ppoll, "ppoll"},
    {SYS_pselect6, "pselect6"},
    {SYS_epoll_pwait, "epoll_pwait"},
    {SYS_futex, "futex"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {__NR_wait4, "wait4"},
    {__NR_waitid, "waitid"},
    {SYS_unlinkat, "unlinkat"},
    {SYS_renameat2, "renameat2"},
    {SYS_exit_group, "exit_group"},
#ifdef SYS_poll
    {SYS_poll, "poll"},
    {SYS_select, "select"},
    {SYS_epoll_wait, "epoll_wait"},
    {SYS_open, "open"},
    {SYS_rename, "rename"},
    {SYS_unlink, "unlink"},
#endif
});

/// Their first argument is a descriptor.
constexpr std::array calls_on_one = {SYS_read,  SYS_write, SYS_close, SYS_ioctl,
                                     SYS_fcntl, SYS_flock, SYS_fsync};

std::string path_of(pid_t pid, std::string_view file) {
  return fmt::format("/proc/{}/{}", pid, file);
}

std::string text_or_why(const std::string& path) {
  const auto text = read_file(path, 1 << 16);
  if (!text) return "not read: " + text.error().message();
  return std::string(trimmed(*text));
}

/// A process of this user that is this program.
struct OwnProcess {
  ProcessStat stat;
  std::string part = "berth";
};
using OwnProcesses = std::map<pid_t, OwnProcess>;

OwnProcesses own_processes_of_berth() {
  OwnProcesses found;
  const auto program = read_link("/proc/self/exe");
  for (const pid_t pid : pids_in("/proc").value_or(std::vector<pid_t>())) {
    if (!program || pid == ::getpid()) continue;
    struct stat facts{};
    const auto executed = read_link(path_of(pid, "exe"));
    // One that was started before an upgrade has " (deleted)" behind its path.
    if (!executed || !executed->starts_with(*program)) continue;
    if (::stat(path_of(pid, "").c_str(), &facts) != 0 || facts.st_uid != ::geteuid()) continue;
    if (const auto stat = read_process_stat(pid, "/proc")) found.emplace(pid, OwnProcess{*stat});
  }
  return found;
}

/// By where it stands towards a keeper, which a record or a lease names.
void name_parts(OwnProcesses& own, const std::map<ProcessId, std::string>& keepers) {
  const auto name = [&](pid_t pid, const std::string& part) {
    const auto found = own.find(pid);
    if (found == own.end() || found->second.part != "berth") return pid_t{0};
    found->second.part = part;
    return found->second.stat.parent;
  };
  const auto name_children = [&](pid_t parent, pid_t session, const std::string& part) {
    std::vector<pid_t> named;
    for (auto& [pid, one] : own) {
      if (one.stat.parent != parent || one.stat.session != session || one.part != "berth") continue;
      one.part = part;
      named.push_back(pid);
    }
    return named;
  };
  for (const auto& [keeper, run] : keepers) {
    const auto found = own.find(keeper.pid);
    if (found == own.end() || found->second.stat.id != keeper) continue;
    const pid_t parent = name(keeper.pid, "keeper of run " + run);
    // An heir that took a killed keeper's place has none of its own: above it is the launcher.
    const auto above = own.find(parent);
    const bool has_heir = above != own.end() && own.contains(above->second.stat.parent);
    const pid_t launcher = has_heir ? name(parent, "heir of the keeper of run " + run) : parent;
    (void)name(launcher, "launcher of run " + run);
    for (const pid_t sampler : name_children(keeper.pid, keeper.pid, "sampler of run " + run)) {
      (void)name_children(sampler, keeper.pid, "probe process of run " + run);
    }
    if (const auto in_front = own.find(launcher); in_front != own.end()) {
      (void)name_children(launcher, in_front->second.stat.session, "signal listener of run " + run);
    }
  }
}

std::string call_of(pid_t pid) {
  const auto text = read_file(path_of(pid, "syscall"), 4096);
  if (!text) return "not read: " + text.error().message();
  const auto words = split(trimmed(*text), ' ');
  const auto number = parse_signed(words[0]);
  if (!number) return std::string(words[0]);  // "running"
  const auto known = std::ranges::find_if(
      call_names, [&](const auto& one) { return one.first == static_cast<long>(*number); });
  std::string said = fmt::format("{} ({})", *number,
                                 known == call_names.end() ? std::string_view("?") : known->second);
  const bool on_one =
      std::ranges::find(calls_on_one, static_cast<long>(*number)) != calls_on_one.end();
  if (on_one && words.size() > 1 && words[1].starts_with("0x")) {
    const int fd = static_cast<int>(std::strtol(std::string(words[1]).c_str(), nullptr, 16));
    const auto target = read_link(path_of(pid, "fd/" + std::to_string(fd)));
    said += fmt::format(" on descriptor {} ({})", fd, target ? *target : target.error().message());
  }
  return said;
}

std::string descriptors_of(pid_t pid, const std::vector<ListedLock>& locks) {
  const auto files = open_files_in(path_of(pid, "fd"));
  if (!files) return "  descriptors not read: " + files.error().message() + "\n";
  std::string text;
  std::size_t shown = 0;
  for (const OpenFile& open : *files) {
    if (++shown > most_descriptors) {
      return text + fmt::format("  … and {} more\n", files->size() - most_descriptors);
    }
    text += fmt::format("  fd {} -> {}\n", open.descriptor,
                        open.path.empty() ? "?" : printable(open.path));
    const std::string path = path_of(pid, "fd/" + std::to_string(open.descriptor));
    struct stat file{};
    if (!open.path.starts_with("/") || ::stat(path.c_str(), &file) != 0) continue;
    for (const ListedLock& lock : locks) {
      if (is_on(lock, file)) text += "    lock " + std::string(trimmed(lock.line)) + "\n";
    }
  }
  return text;
}

std::string command_text_of(pid_t pid) {
  const auto words = command_of(pid);
  return words.empty() ? "not read" : printable(shell_joined(masked_command(words)));
}

std::string age_of(const ProcessStat& stat) {
  const auto uptime = read_file("/proc/uptime", 4096);
  const auto seconds = uptime ? parse_unsigned(uptime->substr(0, uptime->find('.'))) : std::nullopt;
  const long per_second = std::max(1L, ::sysconf(_SC_CLK_TCK));
  if (!seconds) return "unknown";
  return fmt::format(
      "{} s",
      *seconds - std::min(*seconds, stat.id.start_ticks / static_cast<std::uint64_t>(per_second)));
}

std::string text_of(const OwnProcess& one, const std::vector<ListedLock>& locks) {
  const pid_t pid = one.stat.id.pid;
  std::string text =
      fmt::format("process {}: {}\n  state {}, age {}, parent {}, session {}\n", pid, one.part,
                  one.stat.state, age_of(one.stat), one.stat.parent, one.stat.session);
  text += "  in the kernel at " + text_or_why(path_of(pid, "wchan")) + "\n";
  text += "  system call " + call_of(pid) + "\n";
  text += "  command " + command_text_of(pid) + "\n" + descriptors_of(pid, locks);
  text += "  kernel stack: " + text_or_why(path_of(pid, "stack")) + "\n";
  return text;
}

std::map<ProcessId, std::string> keepers_of(const LedgerView& ledger,
                                            const std::vector<RunRecord>& runs) {
  std::map<ProcessId, std::string> keepers;
  for (const Claim& claim : ledger.claims) {
    if (claim.keeper && claim.uid == ::geteuid()) keepers.emplace(*claim.keeper, claim.run);
  }
  for (const RunRecord& run : runs) {
    if (run.state == RunState::running) keepers.emplace(run.manifest.keeper, run.manifest.id);
  }
  return keepers;
}

}  // namespace

Result<ChildAnswer> waits_of_own_processes(const LedgerView& ledger,
                                           const std::vector<RunRecord>& runs, Clock& clock) {
  const auto keepers = keepers_of(ledger, runs);
  const pid_t asker = ::getpid();
  return ask_child(
      [&] {
        OwnProcesses own = own_processes_of_berth();
        own.erase(asker);
        name_parts(own, keepers);
        for (const Waiter& waiter : ledger.waiters) {
          const auto found = own.find(waiter.process.pid);
          if (found == own.end() || found->second.stat.id != waiter.process) continue;
          found->second.part = "launcher, waiting in the queue with ticket " + waiter.id;
        }
        const auto locks = listed_locks();
        for (const auto& [pid, one] : own) {
          if (!write_all(STDOUT_FILENO, text_of(one, locks))) return 1;
        }
        return 0;
      },
      clock, waits_patience);
}

}  // namespace berth
