#include "probe/procfs/stat_reader.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/process.h"
#include "probe/procfs/parse.h"

namespace berth {

namespace {

/// The driver's library opens files of its own in this process: it gets most of what the user may.
std::size_t files_allowed() {
  constexpr rlim_t most = 512;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return 0;
  return std::min(files.rlim_cur / 4, most);
}

bool has_ended(const ProcessStat& stat) { return stat.state == 'Z' || stat.state == 'X'; }

}  // namespace

StatReader::StatReader(std::string proc, CpuTimeOf cpu_time)
    : proc_(std::move(proc)), cpu_time_(std::move(cpu_time)), most_files_(files_allowed()) {}

bool StatReader::is_procfs() {
  if (!is_procfs_) {
    struct statfs system{};
    is_procfs_ = ::statfs(proc_.c_str(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
  }
  return *is_procfs_;
}

std::optional<Duration> StatReader::cpu_time_of(pid_t pid) {
  if (cpu_time_) return cpu_time_(pid);
  if (!is_of_this_namespace_) {
    const auto self = read_link(proc_ + "/self");
    is_of_this_namespace_ = self && *self == std::to_string(::getpid()) && is_procfs();
  }
  return *is_of_this_namespace_ ? process_cpu_time(pid) : std::nullopt;
}

// Opening a file of /proc costs more than reading it does. It stays that of its process, and says
// so when that has ended.
Result<std::string> StatReader::text_of(pid_t pid) {
  if (const auto kept = files_.find(pid); kept != files_.end()) {
    if (auto text = reread_proc_file(kept->second.get())) return text;
    files_.erase(kept);
  }
  const std::string path = proc_ + "/" + std::to_string(pid) + "/stat";
  if (looks_ < 2 || files_.size() >= most_files_ || !is_procfs()) return read_proc_file(path);
  auto file = open_fd(path, O_RDONLY);
  if (!file) return std::unexpected(std::move(file).error());
  auto text = reread_proc_file(file->get());
  if (text) files_.emplace(pid, std::move(*file));
  return text;
}

StatReader::Entry StatReader::read_anew(pid_t pid) {
  Entry entry;
  // Before the line is read: what the process does meanwhile counts as done after it.
  entry.read.cpu_time = cpu_time_of(pid);
  entry.read_at = now_;
  const auto text = text_of(pid);
  if (text) {
    entry.read.stat = parse_process_stat(*text);
  } else {
    entry.read.why = procfs::why_absent(text.error());
    // A /proc mounted with hidepid=2 denies that others' processes exist; a pidfd can be had.
    const bool hidden = text.error().code() == ErrorCode::not_found && proc_ == "/proc" &&
                        open_pidfd(pid).has_value();
    if (hidden) entry.read.why = Absent::no_permission;
  }
  return entry;
}

// To end, stop, become another program or get memory a process has to run. Some things happen to
// one that does not. Its parent ends (ancestors_of() sees to that). Its memory is taken from it. It
// is woken and gets no processor. A freezer changes its state to "D" or back. Hence not for long,
// and never where it was "R" or "D".
bool StatReader::has_rested(pid_t pid, const Entry& entry) {
  constexpr auto shortest = std::chrono::seconds(3);
  // Not all of them in the same look.
  const auto kept = shortest + std::chrono::seconds(static_cast<unsigned>(pid) % 4);
  if (!entry.read.stat || !entry.read.cpu_time || now_ - entry.read_at > kept) return false;
  const char state = entry.read.stat->state;
  if (state == 'R' || state == 'D') return false;
  return entry.read.cpu_time > Duration{0} && cpu_time_of(pid) == entry.read.cpu_time;
}

StatReader::Entry& StatReader::entry_of(pid_t pid) {
  const auto known = entries_.find(pid);
  if (known != entries_.end()) return known->second;
  const auto before = before_.find(pid);
  if (before == before_.end() || !has_rested(pid, before->second)) {
    return entries_.emplace(pid, read_anew(pid)).first->second;
  }
  before->second.is_rested = true;
  return entries_.insert(before_.extract(before)).position->second;
}

StatRead StatReader::stat_of(pid_t pid) { return entry_of(pid).read; }

std::vector<pid_t> StatReader::ancestors_of(pid_t pid) {
  constexpr std::size_t deepest = 256;  // a /proc that changes while being read could go in circles
  std::vector<pid_t> ancestors;
  while (ancestors.size() < deepest) {
    Entry& entry = entry_of(pid);
    if (!entry.read.stat || entry.read.stat->parent <= 0) break;
    const pid_t parent = entry.read.stat->parent;
    const StatRead above = stat_of(parent);
    const bool is_there = above.stat && !has_ended(*above.stat) &&
                          above.stat->id.start_ticks <= entry.read.stat->id.start_ticks;
    if (entry.is_rested && !is_there) {  // it has another one now
      entry = read_anew(pid);
      continue;
    }
    ancestors.push_back(parent);
    pid = parent;
  }
  return ancestors;
}

void StatReader::begin_look(Instant now) {
  now_ = now;
  ++looks_;
  std::erase_if(files_, [&](const auto& file) { return !entries_.contains(file.first); });
  before_ = std::exchange(entries_, {});
}

}  // namespace berth
