#include "probe/procfs/procfs_probe.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"
#include "base/user_name.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

/// How often what rarely changes is read anew.
constexpr unsigned looks_kept = 30;

void set_all_absent(HostProcess& process, Absent why) {
  process.uid = why;
  process.user = why;
  process.command = why;
  process.executable_name = why;
  process.started = why;
  process.cpu_time = why;
  process.memory_resident = why;
  process.state = why;
  process.container = why;
}

/// A lease of a card is one of its instances, and the other way round.
bool names(const Claim& claim, const DeviceId& device, const Snapshot& seen) {
  const auto is_same_card = [&](const DeviceId& a, const DeviceId& b) {
    const Device* known = find_device(a, seen);
    return a == b || (known != nullptr && known->parent == b);
  };
  return std::ranges::any_of(claim.devices, [&](const ClaimedDevice& claimed) {
    return is_same_card(claimed.device, device) || is_same_card(device, claimed.device);
  });
}

Reading<std::string> first_line(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return procfs::why_absent(text.error());
  return std::string(trimmed(*text));
}

}  // namespace

ProcfsProbe::ProcfsProbe(ProcfsSource source, std::int64_t ticks_per_second)
    : source_(std::move(source)), ticks_per_second_(ticks_per_second), stats_(source_.proc) {}

std::string ProcfsProbe::path_of(pid_t pid, std::string_view file) const {
  std::string path = source_.proc;
  path += '/';
  path += std::to_string(pid);
  path += '/';
  path += file;
  return path;
}

Reading<uid_t> ProcfsProbe::user_of(pid_t pid) {
  // The folder belongs to the effective user, also where the process hides its files. An ordinary
  // user there is the answer, for a sixth of the cost of `status`. Behind root may stand a user who
  // started a set-user-ID program: only `status` names that one.
  struct stat folder{};
  if (stats_.is_procfs() && ::stat(path_of(pid, "").c_str(), &folder) == 0 && folder.st_uid != 0) {
    return folder.st_uid;
  }
  const auto status = read_proc_file(path_of(pid, "status"));
  if (!status) return procfs::why_absent(status.error());
  const auto uid = procfs::parse_status_uid(*status);
  return uid ? Reading<uid_t>(*uid) : Reading<uid_t>(Absent::failed);
}

HostProcess ProcfsProbe::look_at(pid_t pid) {
  HostProcess process;
  process.id.pid = pid;
  // Before the line itself is taken: where its parent has gone, it is read anew.
  process.ancestors = stats_.ancestors_of(pid);
  const StatRead read = stats_.stat_of(pid);
  if (!read.stat) {
    set_all_absent(process, read.why);
    // hidepid=1 shows the folder, and so whose it is, and nothing in it.
    const Reading<uid_t> owner = read.why == Absent::no_permission ? user_of(pid) : read.why;
    if (owner.get()) {
      process.uid = owner;
      process.user = std::to_string(*owner.get());
    }
    return process;
  }
  const ProcessStat& stat = *read.stat;
  process.id.start_ticks = stat.id.start_ticks;
  process.executable_name = stat.comm;
  process.has_terminal = stat.has_terminal;
  process.state = std::string(1, stat.state);
  process.cpu_time =
      Milliseconds(static_cast<std::int64_t>(stat.cpu_ticks) * 1000 / ticks_per_second_);
  static const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  process.read = SystemClock().wall_now();
  process.memory_resident = Bytes(stat.resident_pages * page_bytes);
  process.command = Absent::failed;  // until asked for

  if (!boot_seconds_) {
    const auto text = read_file(source_.proc + "/stat", 16 << 20);
    boot_seconds_ = text ? procfs::parse_boot_time(*text) : std::nullopt;
  }
  process.started = Absent::failed;
  if (boot_seconds_) {
    process.started =
        WallTime{*boot_seconds_ * 1000 +
                 static_cast<std::int64_t>(stat.id.start_ticks) * 1000 / ticks_per_second_};
  }
  const Kept& kept = kept_of(pid, read);
  process.uid = kept.uid;
  process.user = process.uid.get() ? Reading<std::string>(std::to_string(*process.uid.get()))
                                   : Reading<std::string>(process.uid.why());
  process.enclosure = kept.enclosure;
  process.container = kept.container;
  if (kept.command) process.command = *kept.command;
  return process;
}

void ProcfsProbe::begin_look() {
  now_ = SystemClock().now();
  stats_.begin_look(now_);
  if (++looks_ % looks_kept == 0) {
    boot_seconds_.reset();
    host_.reset();
  }
  // A part of them each time, so that no look costs more than the others.
  std::erase_if(kept_, [&](const auto& one) {
    const bool is_whole = one.second.uid.get() && one.second.container.get();
    return !is_whole || (static_cast<unsigned>(one.first) + looks_) % looks_kept == 0;
  });
}

/// Another user's stack cannot be read. So an exec under the same name stays unseen, and a process
/// may change its user unseen. Hence only for a while.
bool ProcfsProbe::is_fresh(const Kept& kept, const StatRead& read) const {
  constexpr auto while_running = std::chrono::seconds(4);
  const ProcessStat& stat = *read.stat;
  if (kept.start_ticks != stat.id.start_ticks || kept.executable_name != stat.comm ||
      kept.stack_begin != stat.stack_begin) {
    return false;
  }
  const bool has_rested = kept.cpu_time > Duration{0} && kept.cpu_time == read.cpu_time;
  return has_rested || now_ - kept.read_at < while_running;
}

const ProcfsProbe::Kept& ProcfsProbe::kept_of(pid_t pid, const StatRead& read) {
  const auto known = kept_.find(pid);
  if (known != kept_.end() && is_fresh(known->second, read)) return known->second;
  Kept kept{.start_ticks = read.stat->id.start_ticks,
            .executable_name = read.stat->comm,
            .stack_begin = read.stat->stack_begin,
            .cpu_time = read.cpu_time,
            .read_at = now_};
  kept.uid = user_of(pid);
  read_cgroup(pid, kept);
  return kept_.insert_or_assign(pid, std::move(kept)).first->second;
}

void ProcfsProbe::read_cgroup(pid_t pid, Kept& kept) {
  const auto cgroup = read_proc_file(path_of(pid, "cgroup"), 1 << 16);
  if (!cgroup) {
    kept.container = procfs::why_absent(cgroup.error());
    return;
  }
  if (*cgroup != cgroup_read_) {  // most processes share one
    enclosure_read_ = procfs::enclosure_in_cgroup(*cgroup);
    cgroup_read_ = *cgroup;
  }
  kept.enclosure = enclosure_read_;
  kept.container = enclosure_read_ ? procfs::container_text(*enclosure_read_) : std::string();
}

Reading<std::vector<std::string>> ProcfsProbe::command_of(pid_t pid) {
  const auto kept = kept_.find(pid);
  if (kept != kept_.end() && kept->second.command) return *kept->second.command;
  const auto text = read_proc_file(path_of(pid, "cmdline"), 4 << 20);
  if (!text) return procfs::why_absent(text.error());
  const std::vector<std::string> words = procfs::parse_cmdline(*text);
  if (words.empty()) return Absent::unsupported;  // a zombie, or a thread of the kernel
  if (words != words_read_) {                     // the ranks of a job share one
    masked_read_ = masked_command(words);
    words_read_ = words;
  }
  auto masked = masked_read_;
  if (kept != kept_.end()) kept->second.command = masked;
  return masked;
}

std::optional<std::string> ProcfsProbe::local_user(uid_t uid) {
  if (!passwd_) passwd_ = read_file(source_.passwd, 16 << 20).value_or(std::string());
  return user_in_passwd(*passwd_, uid);
}

std::optional<std::string> ProcfsProbe::directory_user(uid_t uid) {
  const auto user = user_in_directory(uid);
  return user ? std::optional(user->name) : std::nullopt;
}

bool ProcfsProbe::has_open(pid_t pid, const Device* device) const {
  const auto files = open_files_in(path_of(pid, "fd"));
  if (!files) return false;
  const auto minor = device != nullptr ? device->minor_number.get() : std::nullopt;
  return std::ranges::any_of(*files, [&](const OpenFile& file) {
    if (file.path == "/dev/dxg") return true;  // WSL: one file for all devices
    const auto card = card_file_of(file.path);
    if (minor) {
      return card && card->minor == *minor && card->beginning == facts_of(device->kind).card_file;
    }
    return file.path.starts_with("/dev/nvidia");
  });
}

bool ProcfsProbe::is_in_job_on(pid_t pid, const DeviceId& device, const Snapshot& seen,
                               const std::vector<Claim>& claims) {
  const StatRead read = stats_.stat_of(pid);
  if (!read.stat) return false;
  std::vector<pid_t> line = stats_.ancestors_of(pid);
  line.push_back(pid);
  return std::ranges::any_of(claims, [&](const Claim& claim) {
    if (!claim.keeper || !names(claim, device, seen)) return false;
    if (std::ranges::find(line, claim.keeper->pid) == line.end()) return false;
    // The ledger may be the host's, with the host's numbers.
    const StatRead known = stats_.stat_of(claim.keeper->pid);
    return known.stat && known.stat->id == *claim.keeper;
  });
}

bool ProcfsProbe::is_the_listed_one(pid_t pid, const Snapshot& seen,
                                    const std::vector<Claim>& claims) {
  Host here;
  here.process_view = seen.host.process_view;
  observe_host(here);  // a probe process is not told what is learned beside it
  if (!numbers_are_the_hosts(here)) return true;
  bool is_listed = false;
  for (const GpuProcess& use : seen.gpu_processes) {
    if (use.pid != pid) continue;
    is_listed = true;
    // On one of its devices is enough: the driver's numbers are of one namespace.
    if (has_open(pid, find_device(use.device, seen))) return true;
    if (is_in_job_on(pid, use.device, seen, claims)) return true;
  }
  return !is_listed;
}

std::optional<ProcfsProbe::DiskSleep> ProcfsProbe::disk_sleep_of(pid_t pid) const {
  const auto stat = read_process_stat(pid, source_.proc);
  if (!stat || stat->state != 'D') return std::nullopt;
  const auto status = read_proc_file(path_of(pid, "status"));
  const auto switches = status ? procfs::parse_context_switches(*status) : std::nullopt;
  if (!switches) return std::nullopt;
  return DiskSleep{.id = stat->id, .cpu_ticks = stat->cpu_ticks, .context_switches = *switches};
}

Reading<DeviceFiles> ProcfsProbe::device_files() {
  const auto pids = pids_in(source_.proc);
  if (!pids) return procfs::why_absent(pids.error());
  DeviceFiles files;
  std::uint64_t unreadable = 0;
  for (const pid_t pid : *pids) {
    const auto open = open_files_in(path_of(pid, "fd"));
    if (!open && open.error().code() == ErrorCode::no_permission) ++unreadable;
    if (!open) continue;  // else it has ended
    for (const OpenFile& file : *open) {
      const auto card = card_file_of(file.path);
      if (!card) continue;
      const bool is_unnamed = card->beginning == facts_of(unnamed_vendor).card_file;
      files.holders.push_back({.pid = pid,
                               .minor = card->minor,
                               .card_file = std::string(is_unnamed ? "" : card->beginning)});
    }
  }
  std::ranges::sort(files.holders);
  const auto twice = std::ranges::unique(files.holders);
  files.holders.erase(twice.begin(), twice.end());
  files.unreadable = hides_others(*pids, source_.proc)
                         ? Reading<std::uint64_t>(Absent::no_permission)
                         : unreadable;
  return files;
}

void ProcfsProbe::observe_host(Host& host) {
  if (!host_) {
    const std::string kernel = source_.proc + "/sys/kernel/";
    host_.emplace();
    host_->name = first_line(kernel + "hostname");
    host_->kernel = first_line(kernel + "osrelease");
    host_->process_view = process_view(*host_);
    host_->boot_id = first_line(kernel + "random/boot_id");
  }
  if (!host.name.get()) host.name = host_->name;
  if (!host.kernel.get()) host.kernel = host_->kernel;
  if (!host.process_view.get()) host.process_view = host_->process_view;
  if (!host.boot_id.get()) host.boot_id = host_->boot_id;
}

Reading<std::string> ProcfsProbe::process_view(const Host& host) const {
  if (host.kernel.get() && host.kernel.get()->find("icrosoft") != std::string::npos)
    return std::string("wsl");
  const auto own = read_link(source_.proc + "/self/ns/pid");
  if (!own) return procfs::why_absent(own.error());
  constexpr std::string_view first_namespace = "pid:[4026531836]";  // PROC_PID_INIT_INO
  return std::string(*own == first_namespace ? "whole" : "namespace");
}

std::vector<pid_t> pids_named_by(const Snapshot& snapshot, const std::vector<Claim>& claims) {
  std::set<pid_t> pids;
  for (const GpuProcess& process : snapshot.gpu_processes) pids.insert(process.pid);
  if (snapshot.device_files.get()) {
    for (const DeviceFileHolder& one : snapshot.device_files.get()->holders) pids.insert(one.pid);
  }
  for (const Claim& claim : claims) {
    if (claim.job) pids.insert(claim.job->pid);
  }
  return {pids.begin(), pids.end()};
}

}  // namespace berth
