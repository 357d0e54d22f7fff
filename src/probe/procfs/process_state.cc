#include "probe/procfs/process_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/fd.h"
#include "base/port.h"
#include "base/process_stat.h"
#include "base/text.h"

namespace berth {

namespace {

/// A machine with a hundred thousand connections has 15 MiB of them.
constexpr std::size_t longest_socket_table = std::size_t{16} << 20;

bool has_one_of(const ProcessId& process, const std::vector<std::uint64_t>& inodes,
                const std::string& proc) {
  std::error_code error;
  const auto open = fmt::format("{}/{}/fd", proc, process.pid);
  for (std::filesystem::directory_iterator at(open, error), end; !error && at != end;
       at.increment(error)) {
    const std::string target = read_link(at->path().string()).value_or("");
    if (!target.starts_with("socket:[")) continue;
    const auto inode = parse_unsigned(std::string_view(target).substr(8, target.size() - 9));
    if (inode && std::ranges::binary_search(inodes, *inode)) return true;
  }
  return false;
}

}  // namespace

std::optional<KernelState> kernel_state_of(const ProcessId& process, const std::string& proc) {
  const auto stat = read_process_stat(process.pid, proc);
  if (!stat || stat->id != process) return std::nullopt;
  KernelState found{.state = stat->state, .waits_in = {}};
  const auto text = read_proc_file(fmt::format("{}/{}/wchan", proc, process.pid));
  if (text && *text != "0") found.waits_in = trimmed(*text);
  return found;
}

std::vector<std::string> kernel_stack_of(pid_t pid, const std::string& proc) {
  std::vector<std::string> stack;
  const auto text = read_proc_file(fmt::format("{}/{}/stack", proc, pid));
  if (!text) return stack;
  for (const std::string_view line : split(*text, '\n')) {
    if (!line.empty()) stack.emplace_back(line);
  }
  return stack;
}

std::optional<bool> has_socket_at(const std::vector<ProcessId>& processes, std::uint16_t port,
                                  const std::string& proc) {
  if (processes.empty()) return std::nullopt;
  std::vector<std::uint64_t> inodes;
  bool was_read = false;
  for (const char* name : {"tcp", "tcp6"}) {
    const auto text = read_file(fmt::format("{}/{}/net/{}", proc, processes.front().pid, name),
                                longest_socket_table);
    if (!text) continue;
    was_read = true;
    const auto more = sockets_at_port(*text, port);
    inodes.insert(inodes.end(), more.begin(), more.end());
  }
  if (!was_read) return std::nullopt;
  std::ranges::sort(inodes);
  return std::ranges::any_of(
      processes, [&](const ProcessId& process) { return has_one_of(process, inodes, proc); });
}

bool has_faulthandler(pid_t pid, const std::string& proc) {
  constexpr std::string_view variable = "PYTHONFAULTHANDLER=";
  const auto environment = read_proc_file(fmt::format("{}/{}/environ", proc, pid));
  const auto stat = read_process_stat(pid, proc);
  if (!environment || !stat || !stat->comm.starts_with("python")) return false;
  return std::ranges::any_of(split(*environment, '\0'), [&](std::string_view one) {
    return one.starts_with(variable) && one.size() > variable.size();
  });
}

}  // namespace berth
