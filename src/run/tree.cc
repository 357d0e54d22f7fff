#include "run/tree.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/fd.h"
#include "base/process.h"
#include "base/process_stat.h"
#include "base/text.h"
#include "run/ranks/rank_words.h"

namespace berth {

namespace {

std::vector<pid_t> listed_in(const std::string& proc) {
  return pids_in(proc).value_or(std::vector<pid_t>());
}

std::uint64_t sum_or_zero(std::optional<std::uint64_t> a, std::optional<std::uint64_t> b) {
  return a.value_or(0) + b.value_or(0);
}

}  // namespace

std::vector<ProcessId> processes_in_session(pid_t session, const std::string& proc) {
  std::vector<ProcessId> found;
  for (const pid_t pid : listed_in(proc)) {
    const auto stat = read_process_stat(pid, proc);
    if (stat && stat->session == session) found.push_back(stat->id);
  }
  return found;
}

namespace {
/// `is_left_out`: with all below it.
template <typename LeftOut>
std::vector<ProcessId> descendants(pid_t root, const std::string& proc, LeftOut is_left_out) {
  std::multimap<pid_t, ProcessStat> children;
  for (const pid_t pid : listed_in(proc)) {
    if (const auto stat = read_process_stat(pid, proc)) children.emplace(stat->parent, *stat);
  }
  std::vector<ProcessId> tree;
  std::vector<pid_t> parents = {root};
  while (!parents.empty()) {
    const auto [from, to] = children.equal_range(parents.back());
    parents.pop_back();
    for (auto child = from; child != to; ++child) {
      const ProcessStat& stat = child->second;
      if (is_left_out(stat)) continue;
      parents.push_back(stat.id.pid);
      if (stat.state != 'Z' && stat.state != 'X') tree.push_back(stat.id);
    }
  }
  return tree;
}
}  // namespace

namespace {
/// The sampler and its processes. `others`: those of a keeper that was killed.
bool is_helper(const ProcessStat& one, pid_t keeper, const std::vector<ProcessId>& others) {
  return one.session == keeper || std::ranges::find(others, one.id) != others.end();
}
}  // namespace

std::vector<ProcessId> run_processes(pid_t keeper, const std::string& proc,
                                     const std::vector<ProcessId>& except) {
  return descendants(keeper, proc,
                     [&](const ProcessStat& one) { return is_helper(one, keeper, except); });
}

namespace {
/// Its children, dead ones that are yet to be reaped included.
std::vector<pid_t> children_of(pid_t process, const std::string& proc) {
  const std::string name = std::to_string(process);
  const auto listed = read_file(proc + "/" + name + "/task/" + name + "/children", 64 << 20);
  std::vector<pid_t> children;
  if (listed) {
    for (const std::string_view word : split(trimmed(*listed), ' ')) {
      if (const auto pid = parse_unsigned(word)) children.push_back(static_cast<pid_t>(*pid));
    }
    return children;
  }
  // Not every kernel has that file (CONFIG_PROC_CHILDREN).
  for (const pid_t pid : listed_in(proc)) {
    const auto stat = read_process_stat(pid, proc);
    if (stat && stat->parent == process) children.push_back(pid);
  }
  return children;
}
}  // namespace

bool may_have_run_processes(pid_t keeper, const std::string& proc,
                            const std::vector<ProcessId>& except) {
  return std::ranges::any_of(children_of(keeper, proc), [&](pid_t child) {
    const auto stat = read_process_stat(child, proc);
    return !stat || !is_helper(*stat, keeper, except);
  });
}

std::vector<ProcessId> descendants_of(pid_t process, const std::string& proc) {
  return descendants(process, proc, [](const ProcessStat&) { return false; });
}

std::optional<uid_t> user_of(pid_t pid, const std::string& proc) {
  const auto status = read_file(proc + "/" + std::to_string(pid) + "/status", 1 << 16);
  const auto uid = status ? number_in_lines(*status, "Uid") : std::nullopt;
  return uid && std::in_range<uid_t>(*uid) ? std::optional(static_cast<uid_t>(*uid)) : std::nullopt;
}

std::vector<std::string> command_of(pid_t pid, const std::string& proc) {
  const auto text = read_file(proc + "/" + std::to_string(pid) + "/cmdline", 1 << 16);
  std::vector<std::string> words;
  for (const std::string_view word :
       split(text ? std::string_view(*text) : std::string_view(), '\0')) {
    words.emplace_back(word);
  }
  if (!words.empty() && words.back().empty()) words.pop_back();
  return words;
}

std::vector<ProcessId> processes_named_for(std::string_view run, pid_t except,
                                           const std::string& proc) {
  const std::string wanted = "BERTH_RUN=" + std::string(run);
  std::vector<ProcessId> found;
  for (const pid_t pid : listed_in(proc)) {
    const std::string directory = proc + "/" + std::to_string(pid);
    struct stat facts{};
    if (pid == except || ::stat(directory.c_str(), &facts) != 0 || facts.st_uid != ::getuid()) {
      continue;
    }
    const auto environment = read_file(directory + "/environ");
    if (!environment) continue;
    const auto entries = split(*environment, '\0');
    if (std::find(entries.begin(), entries.end(), wanted) == entries.end()) continue;
    if (const auto id = identify_process(pid, proc)) found.push_back(*id);
  }
  return found;
}

Reading<bool> device_open_in(pid_t pid, const std::vector<std::string>& beginnings,
                             const std::string& proc) {
  const auto files = open_files_in(proc + "/" + std::to_string(pid) + "/fd");
  if (!files) {
    if (files.error().code() == ErrorCode::not_found) return false;  // gone
    const bool is_anothers = files.error().code() == ErrorCode::no_permission;
    return is_anothers ? Absent::no_permission : Absent::failed;
  }
  const auto is_device = [&](const OpenFile& file) {
    return std::ranges::any_of(beginnings,
                               [&](const std::string& one) { return file.path.starts_with(one); });
  };
  if (std::ranges::any_of(*files, is_device)) return true;
  if (std::ranges::find(*files, "", &OpenFile::path) != files->end()) return Absent::failed;
  return false;
}

bool has_device_open(pid_t pid, const std::vector<std::string>& beginnings,
                     const std::string& proc) {
  return device_open_in(pid, beginnings, proc).get().value_or(true);
}

std::size_t count_with_device_open(const std::vector<ProcessId>& processes,
                                   const std::vector<std::string>& beginnings,
                                   const std::string& proc) {
  return static_cast<std::size_t>(std::ranges::count_if(
      processes, [&](const ProcessId& one) { return has_device_open(one.pid, beginnings, proc); }));
}

namespace {
/// srun hands no TERM on: it has the step killed. The launcher of the ranks tells those of its
/// node.
bool stands_for_another_node(const ProcessId& process) {
  const auto stat = read_process_stat(process.pid, "/proc");
  if (!stat || stat->comm != "srun") return false;
  const auto environment = read_proc_file(fmt::format("/proc/{}/environ", process.pid));
  if (!environment) return false;
  return std::ranges::any_of(split(*environment, '\0'), [](std::string_view one) {
    return one.starts_with(rank_node_variable) && one.substr(rank_node_variable.size(), 1) == "=";
  });
}
}  // namespace

void signal_all(const std::vector<ProcessId>& processes, int signal) {
  for (const ProcessId& process : processes) {
    if (signal == SIGTERM && stands_for_another_node(process)) continue;
    (void)send_signal(process, signal);
  }
}

TreeWatch::TreeWatch(pid_t keeper, std::string proc) : keeper_(keeper), proc_(std::move(proc)) {}

TreeWatch TreeWatch::of(pid_t process, std::string proc) {
  TreeWatch watch(0, std::move(proc));
  watch.members_.try_emplace(process);
  return watch;
}

/// Reads the kernel's lists of children, one per thread. For a small job that is much less than a
/// look at all processes. False: the kernel keeps no lists, or the job is not small.
bool TreeWatch::learn_by_children() {
  std::size_t threads_left = 64;
  std::vector<pid_t> parents;
  if (keeper_ != 0) {
    parents = roots_;
    parents.push_back(keeper_);  // who adopts their orphans
  } else {
    for (const auto& [pid, member] : members_) parents.push_back(pid);
  }
  std::set<pid_t> seen;
  bool is_told = false;
  while (!parents.empty()) {
    const pid_t parent = parents.back();
    parents.pop_back();
    const std::string tasks = proc_ + "/" + std::to_string(parent) + "/task";
    const auto threads = list_directory(tasks);
    if (!threads && parent == keeper_) return false;
    for (const std::string& thread : threads.value_or(std::vector<std::string>{})) {
      if (threads_left-- == 0) return false;
      const auto listed = read_file(tasks + "/" + thread + "/children", 64 << 20);
      if (!listed && parent == keeper_) return false;
      if (!listed) continue;  // it has ended
      is_told = true;
      for (const std::string_view word : split(trimmed(*listed), ' ')) {
        const auto number = parse_unsigned(word);
        const auto child = static_cast<pid_t>(number.value_or(0));
        if (!number || !seen.insert(child).second) continue;
        const auto stat = read_process_stat(child, proc_);
        if (!stat || stat->session == keeper_) continue;
        members_.try_emplace(child);
        parents.push_back(child);
      }
    }
  }
  return is_told;
}

void TreeWatch::learn_newcomers(const std::vector<pid_t>& present) {
  std::vector<pid_t> strangers;
  std::map<pid_t, ProcessStat> newcomers;
  for (const pid_t pid : present) {
    if (pid == keeper_ || members_.contains(pid)) continue;
    if (std::binary_search(strangers_.begin(), strangers_.end(), pid)) {
      strangers.push_back(pid);
    } else if (const auto stat = read_process_stat(pid, proc_)) {
      newcomers.emplace(pid, *stat);
    }
  }
  // A newcomer's parent may be a newcomer too: repeat until nobody joins.
  for (bool joined = true; joined;) {
    joined = false;
    for (auto one = newcomers.begin(); one != newcomers.end();) {
      const bool is_keepers = keeper_ != 0 && one->second.parent == keeper_;
      const bool is_its_help = keeper_ != 0 && one->second.session == keeper_;
      const bool ours = !is_its_help && (is_keepers || members_.contains(one->second.parent));
      joined = joined || ours;
      if (ours) members_.try_emplace(one->first);
      one = ours ? newcomers.erase(one) : std::next(one);
    }
  }
  for (const auto& [pid, stat] : newcomers) strangers.push_back(pid);
  std::sort(strangers.begin(), strangers.end());
  strangers_ = std::move(strangers);
}

void TreeWatch::add_root(pid_t process) {
  if (std::ranges::find(roots_, process) != roots_.end()) return;
  roots_.push_back(process);
  members_.try_emplace(process);
  strangers_.clear();  // some may descend from it
}

TreeWatch::TreeUse TreeWatch::look() {
  asks_children_ = asks_children_ && learn_by_children();
  if (!asks_children_) learn_newcomers(listed_in(proc_));
  TreeUse seen;
  std::uint64_t ticks = 0;
  std::uint64_t pages = 0;
  bool io_known = gone_.read.has_value();
  std::uint64_t read = gone_.read.value_or(0);
  std::uint64_t written = gone_.written.value_or(0);
  for (auto one = members_.begin(); one != members_.end();) {
    const auto stat = read_process_stat(one->first, proc_);
    Member& member = one->second;
    if (!stat) {
      gone_.cpu_ticks += member.cpu_ticks;
      if (member.read || gone_.read) {
        gone_.read = sum_or_zero(gone_.read, member.read);
        gone_.written = sum_or_zero(gone_.written, member.written);
      }
      read += member.read.value_or(0);
      written += member.written.value_or(0);
      one = members_.erase(one);
      continue;
    }
    member.cpu_ticks = stat->cpu_ticks;
    if (stat->state != 'Z') {
      seen.pids.push_back(one->first);
      pages += stat->resident_pages;
      if (const auto io = read_file(proc_ + "/" + std::to_string(one->first) + "/io", 4096)) {
        member.read = number_in_lines(*io, "read_bytes");
        member.written = number_in_lines(*io, "write_bytes");
      }
    }
    io_known = io_known || member.read.has_value();
    ticks += member.cpu_ticks;
    read += member.read.value_or(0);
    written += member.written.value_or(0);
    ++one;
  }
  const long per_second = std::max(1L, ::sysconf(_SC_CLK_TCK));
  seen.cpu = Milliseconds(static_cast<std::int64_t>(ticks + gone_.cpu_ticks) * 1000 / per_second);
  seen.memory_resident = Bytes(pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
  seen.read = io_known ? Reading<Bytes>(Bytes(read)) : Reading<Bytes>(Absent::no_permission);
  seen.written = io_known ? Reading<Bytes>(Bytes(written)) : Reading<Bytes>(Absent::no_permission);
  return seen;
}

}  // namespace berth
