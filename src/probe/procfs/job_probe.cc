#include "probe/procfs/job_probe.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/control_group.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/process_stat.h"
#include "base/text.h"
#include "probe/process_files.h"
#include "probe/procfs/parse.h"
#include "snapshot/device_kind.h"

namespace berth {

namespace {

constexpr std::size_t most_threads = 1024;

std::vector<pid_t> numbers_in(const std::string& directory) {
  std::vector<pid_t> numbers;
  for (const std::string& name : entries_in(directory)) {
    const auto number = parse_unsigned(name);
    if (number && std::in_range<pid_t>(*number)) numbers.push_back(static_cast<pid_t>(*number));
  }
  return numbers;
}

Reading<Bytes> bytes_in(std::string_view text, std::string_view name) {
  const auto value = number_in_lines(text, name);
  return value ? Reading<Bytes>(Bytes(*value)) : Reading<Bytes>(Absent::unsupported);
}

Reading<std::uint64_t> count_in(std::string_view text, std::string_view name) {
  const auto value = number_in_lines(text, name);
  return value ? Reading<std::uint64_t>(*value) : Reading<std::uint64_t>(Absent::unsupported);
}

void read_io(const std::string& path, ProcessCounters& counters) {
  const auto io = read_proc_file(path);
  if (!io) {
    const Absent why = procfs::why_absent(io.error());
    counters.storage_read = counters.read = counters.written = why;
    return;
  }
  counters.storage_read = bytes_in(*io, "read_bytes");
  counters.read = bytes_in(*io, "rchar");
  counters.written = bytes_in(*io, "wchar");
}

void read_status(const std::string& path, ProcessCounters& counters) {
  const auto status = read_proc_file(path);
  if (!status) {
    const Absent why = procfs::why_absent(status.error());
    counters.swapped = why;
    counters.voluntary_switches = counters.involuntary_switches = why;
    return;
  }
  // Of its first thread alone: that one waits for the GPU.
  counters.voluntary_switches = count_in(*status, "voluntary_ctxt_switches");
  counters.involuntary_switches = count_in(*status, "nonvoluntary_ctxt_switches");
  const auto swapped = number_in_lines(*status, "VmSwap");
  counters.swapped = swapped ? Reading<Bytes>(Bytes(*swapped * 1024)) : Absent::unsupported;
}

bool is_cpu_build(std::string_view maps, const DeviceKindFacts& kind) {
  const auto has = [&](std::string_view name) { return !name.empty() && maps.contains(name); };
  const bool computes = std::ranges::any_of(
      device_kinds(), [&](const DeviceKindFacts& facts) { return has(facts.torch.library); });
  return maps.contains("/libtorch_cpu") && !has(kind.torch.package) && !computes;
}

/// Whether this variable hides every device of the kind from the process. Behind the kind's second
/// one no other is read.
bool hides_all(const DeviceKindFacts& kind, std::string_view name, std::string_view list,
               bool has_second) {
  const bool is_other = name != kind.visible_variable && name != kind.second_variable;
  const bool is_read =
      name != kind.toolkit_variable && !(has_second && is_other) &&
      std::ranges::any_of(kind.hiding, [&](const auto& one) { return one.first == name; });
  if (!is_read) return false;
  if (kind.list_syntax == ListSyntax::level_zero) return list == "-1";
  // An empty list behind the kind's own variable is as none. Lists end at what is no number.
  return list.empty() ? name == kind.visible_variable : list.front() == '-';
}

/// "framework torch", "cpu_build", "ranks 8", "hides CUDA_VISIBLE_DEVICES=-1": a line each.
std::string facts_of_process(const std::string& folder, const DeviceKindFacts& kind) {
  std::string said;
  const auto maps = read_file(folder + "/maps", 64 << 20).value_or(std::string());
  const auto has = [&](std::string_view name) { return maps.find(name) != std::string::npos; };
  if (has("/libtorch")) {
    said += "framework torch\n";
    if (is_cpu_build(maps, kind)) said += "cpu_build\n";
  } else if (has("/jaxlib/")) {
    said += "framework jax\n";
  } else if (has("/libtensorflow")) {
    said += "framework tensorflow\n";
  }
  const auto environment = read_file(folder + "/environ", 4 << 20).value_or(std::string());
  const std::vector<std::string_view> entries = split(environment, '\0');
  const std::string second = std::string(kind.second_variable) + "=";
  const bool has_second = std::ranges::any_of(entries, [&](std::string_view entry) {
    return second.size() > 1 && entry.starts_with(second) && entry.size() > second.size();
  });
  for (const std::string_view entry : entries) {
    for (const std::string_view name : {"WORLD_SIZE=", "OMPI_COMM_WORLD_SIZE=", "PMI_SIZE="}) {
      if (entry.starts_with(name)) said += fmt::format("ranks {}\n", entry.substr(name.size()));
    }
    const std::size_t equals = entry.find('=');
    if (equals == entry.npos) continue;
    const std::string_view name = entry.substr(0, equals);
    const std::string_view list = trimmed(entry.substr(equals + 1));
    if (hides_all(kind, name, list, has_second)) said += fmt::format("hides {}={}\n", name, list);
  }
  return said;
}

/// How many of them have a GPU's device file open, as "files 0" or "files no_permission".
std::string device_files_of(const std::vector<ProcessCounters>& processes,
                            const std::string& proc) {
  std::uint64_t open = 0;
  for (const ProcessCounters& process : processes) {
    const auto files = read_process_files(process.id, proc).device_files;
    if (!files.get()) return fmt::format("files {}\n", name_of(files.why()));
    if (!files.get()->empty()) ++open;
  }
  return fmt::format("files {}\n", open);
}

/// The lines of `chief`, or of the first process that has a framework where it has none.
std::string facts_of_job(pid_t chief, const std::vector<ProcessCounters>& processes, bool is_on,
                         const DeviceKindFacts& kind, const std::string& proc) {
  std::string text = facts_of_process(fmt::format("{}/{}", proc, chief), kind);
  if (is_on) return text;
  for (const ProcessCounters& process : processes) {
    if (text.starts_with("framework")) break;
    const std::string its = facts_of_process(fmt::format("{}/{}", proc, process.id.pid), kind);
    if (its.starts_with("framework")) text = its;
  }
  return text + device_files_of(processes, proc);
}

/// Since the oldest of them began.
Reading<Milliseconds> age_of(const std::vector<ProcessCounters>& processes,
                             const JobProbeSource& source) {
  const auto text = read_file(source.proc + "/uptime", 256);
  const auto uptime = text ? parse_decimal(split(*text, ' ').front()) : std::nullopt;
  if (!uptime || processes.empty()) return Absent::failed;
  std::uint64_t first = processes.front().id.start_ticks;
  for (const ProcessCounters& process : processes) {
    first = std::min(first, process.id.start_ticks);
  }
  const double began = static_cast<double>(first) / static_cast<double>(source.ticks_per_second);
  return Milliseconds(static_cast<std::int64_t>(std::max(0.0, *uptime - began) * 1000));
}

}  // namespace

std::string JobProbe::path_of(pid_t pid, std::string_view file) const {
  return source_.proc + "/" + std::to_string(pid) + "/" + std::string(file);
}

void JobProbe::read_threads(pid_t pid, ProcessCounters& counters) const {
  std::vector<ThreadCounters> threads;
  counters.knows_delays = true;
  for (const pid_t tid : numbers_in(path_of(pid, "task"))) {
    if (threads.size() >= most_threads) break;
    const std::string folder = path_of(pid, "task/") + std::to_string(tid);
    const auto text = read_proc_file(folder + "/stat");
    const auto stat = text ? parse_process_stat(*text) : std::nullopt;
    if (!stat) continue;  // it ended meanwhile
    ThreadCounters thread{.tid = tid, .state = stat->state};
    thread.cpu_ns =
        stat->cpu_ticks * (1'000'000'000U / static_cast<std::uint64_t>(source_.ticks_per_second));
    const auto counted = read_proc_file(folder + "/schedstat");
    const auto words = counted ? split(trimmed(*counted), ' ') : std::vector<std::string_view>();
    const auto ran = words.size() >= 3 ? parse_unsigned(words[0]) : std::nullopt;
    const auto waited = words.size() >= 3 ? parse_unsigned(words[1]) : std::nullopt;
    if (ran && waited) {
      thread.cpu_ns = *ran;
      thread.delay_ns = *waited;
    } else {
      counters.knows_delays = false;
    }
    threads.push_back(thread);
  }
  if (threads.empty()) {
    counters.threads = Absent::failed;
    counters.knows_delays = false;
  } else {
    counters.threads = std::move(threads);
  }
}

std::optional<ProcessCounters> JobProbe::counters_of(pid_t pid) const {
  const auto text = read_proc_file(path_of(pid, "stat"));
  const auto stat = text ? parse_process_stat(*text) : std::nullopt;
  if (!stat || stat->state == 'Z' || stat->state == 'X') return std::nullopt;
  ProcessCounters counters{.id = stat->id,
                           .parent = stat->parent,
                           .name = stat->comm,
                           .state = stat->state,
                           .cpu = Milliseconds(static_cast<std::int64_t>(stat->cpu_ticks) * 1000 /
                                               source_.ticks_per_second)};
  const auto faults = procfs::parse_major_faults(*text);
  counters.major_faults = faults ? Reading<std::uint64_t>(*faults) : Absent::failed;
  read_threads(pid, counters);
  read_io(path_of(pid, "io"), counters);
  read_status(path_of(pid, "status"), counters);
  return counters;
}

JobProcesses JobProbe::counters_of_all(const std::vector<pid_t>& roots,
                                       const std::set<pid_t>& wanted) const {
  // A root, whose GPU it is about, may have the highest pid of all.
  std::vector<pid_t> in_turn(wanted.begin(), wanted.end());
  const auto is_root = [&](pid_t pid) { return std::ranges::find(roots, pid) != roots.end(); };
  std::ranges::stable_partition(in_turn, is_root);
  JobProcesses found;
  for (const pid_t pid : in_turn) {
    if (found.list.size() >= most_processes) {
      ++found.left_out;
    } else if (auto counters = counters_of(pid)) {
      found.list.push_back(*std::move(counters));
    }
  }
  std::ranges::sort(found.list, {}, [](const ProcessCounters& one) { return one.id.pid; });
  return found;
}

JobProcesses JobProbe::processes(const std::vector<pid_t>& roots,
                                 std::optional<pid_t> except_session) const {
  std::multimap<pid_t, ProcessStat> children;
  std::set<pid_t> wanted;
  for (const pid_t pid : numbers_in(source_.proc)) {
    auto stat = read_process_stat(pid, source_.proc);
    if (!stat) continue;
    if (std::ranges::find(roots, pid) != roots.end()) wanted.insert(pid);
    const pid_t parent = stat->parent;
    children.emplace(parent, *std::move(stat));
  }
  std::vector<pid_t> parents = roots;
  while (!parents.empty()) {
    const auto [from, to] = children.equal_range(parents.back());
    parents.pop_back();
    for (auto child = from; child != to; ++child) {
      const ProcessStat& stat = child->second;
      if (except_session && stat.session == *except_session) continue;
      if (!wanted.insert(stat.id.pid).second &&
          std::ranges::find(roots, stat.id.pid) == roots.end()) {
        continue;
      }
      parents.push_back(stat.id.pid);
    }
  }
  if (except_session) wanted.erase(*except_session);
  return counters_of_all(roots, wanted);
}

HostCounters JobProbe::host() const {
  HostCounters host;
  constexpr std::size_t longest = 16 << 20;  // one line per CPU and per interrupt
  if (const auto stat = read_file(source_.proc + "/stat", longest)) {
    procfs::parse_cpu_line(*stat, host);
  }
  const auto pressure = read_file(source_.proc + "/pressure/io");
  host.io_pressure = pressure ? Absent::failed : procfs::why_absent(pressure.error());
  if (pressure) {
    const std::string_view first = std::string_view(*pressure).substr(0, pressure->find('\n'));
    const std::size_t at = first.rfind("total=");
    const auto total =
        at == std::string_view::npos ? std::nullopt : parse_unsigned(first.substr(at + 6));
    if (total) host.io_pressure = Microseconds(*total);
  }
  if (const auto pages = read_file(source_.proc + "/vmstat")) {
    for (const std::string_view line : split(*pages, '\n')) {
      if (!line.starts_with("pswpin ")) continue;
      const auto count = parse_unsigned(line.substr(7));
      if (count) host.swap_in = Bytes(*count * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
    }
  }
  return host;
}

Reading<std::uint64_t> JobProbe::cpus() const {
  const auto stat = read_file(source_.proc + "/stat", 16 << 20);
  if (!stat) return procfs::why_absent(stat.error());
  std::uint64_t count = 0;
  for (const std::string_view line : split(*stat, '\n')) {
    if (line.starts_with("cpu") && line.size() > 3 && line[3] >= '0' && line[3] <= '9') ++count;
  }
  return count > 0 ? Reading<std::uint64_t>(count) : Absent::failed;
}

JobComputing JobProbe::computing(pid_t chief, const std::vector<ProcessCounters>& processes,
                                 bool is_on, std::optional<DeviceKind> kind, Clock& clock) const {
  const DeviceKindFacts& its = kind ? facts_of(*kind) : facts_of(unnamed_vendor);
  const auto answer = ask_child(
      [&] {
        static_cast<void>(write_all(1, facts_of_job(chief, processes, is_on, its, source_.proc)));
        return 0;
      },
      clock, std::chrono::seconds(1));
  JobComputing said;
  if (!answer) return said;
  CpuFacts facts{.age = age_of(processes, source_), .kind = kind};
  bool has_looked = false;
  for (const std::string_view line : split(answer->out, '\n')) {
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string_view name = line.substr(0, space);
    const std::string_view value = line.substr(std::min(space + 1, line.size()));
    if (name == "framework") said.framework = value;
    if (name == "ranks" && !said.ranks) said.ranks = parse_unsigned(value);
    if (name == "cpu_build") facts.framework_for_cpu = true;
    if (name == "hides" && facts.hiding_variable.empty()) {
      facts.hiding_variable = value.substr(0, value.find('='));
      facts.visible_devices = std::string(value.substr(value.find('=') + 1));
    }
    if (name != "files") continue;
    has_looked = true;
    facts.device_files = absent_from_name(value).value_or(Absent::failed);
    if (const auto count = parse_unsigned(value)) facts.device_files = *count;
  }
  if (has_looked) said.cpu_side = std::move(facts);
  return said;
}

Reading<double> JobProbe::cpus_allowed(pid_t pid) const {
  const auto status = read_proc_file(path_of(pid, "status"));
  if (!status) return procfs::why_absent(status.error());
  for (const std::string_view line : split(*status, '\n')) {
    constexpr std::string_view name = "Cpus_allowed_list:";
    if (!line.starts_with(name)) continue;
    const auto numbers = numbers_in_list(line.substr(name.size()));
    if (!numbers) return Absent::failed;
    const auto allowed = static_cast<double>(numbers->size());
    const auto groups = read_proc_file(path_of(pid, "cgroup"));
    const auto quota = groups ? cpu_quota(*groups, source_.cgroup) : std::nullopt;
    return std::min(allowed, quota.value_or(allowed));
  }
  return Absent::unsupported;
}

namespace procfs {

void parse_cpu_line(std::string_view stat, HostCounters& host) {
  host.cpu_all_ticks = host.cpu_idle_ticks = host.cpu_iowait_ticks = Absent::failed;
  const std::string_view line = stat.substr(0, stat.find('\n'));
  if (!line.starts_with("cpu ")) return;
  std::uint64_t all = 0;
  std::vector<std::uint64_t> values;
  for (const std::string_view word : words_in(line.substr(4))) {
    const auto value = parse_unsigned(word);
    if (!value) return;
    values.push_back(*value);
    // user nice system idle iowait irq softirq steal; guests' time is in user already
    if (values.size() <= 8) all += *value;
  }
  if (values.size() < 5) return;
  host.cpu_all_ticks = all;
  host.cpu_idle_ticks = values[3];
  host.cpu_iowait_ticks = values[4];
}

std::optional<std::uint64_t> parse_major_faults(std::string_view stat) {
  const std::size_t end = stat.rfind(')');
  if (end == std::string_view::npos) return std::nullopt;
  // After the name: state(3) ppid pgrp session tty tpgid flags minflt cminflt majflt(12)
  const auto words = split(trimmed(stat.substr(end + 1)), ' ');
  if (words.size() < 10) return std::nullopt;
  return parse_unsigned(words[9]);
}

}  // namespace procfs

}  // namespace berth
