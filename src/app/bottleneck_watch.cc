#include "app/bottleneck_watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "app/live.h"
#include "app/terminal.h"
#include "app/verb.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"
#include "base/tr.h"
#include "diagnose/bottleneck/watched.h"
#include "probe/process_files.h"
#include "probe/procfs/job_probe.h"
#include "probe/sim/work.h"

namespace berth {

namespace {

using std::chrono::milliseconds;

/// What a process says of how it computes, without running anything of it: what it has loaded and
/// how many ranks its launcher told it of.
struct SaidByProcess {
  bottleneck::Framework framework = bottleneck::Framework::unknown;
  std::optional<std::uint64_t> ranks;
  std::optional<bottleneck::CpuFacts> cpu_side;
};

/// "framework torch", "cpu_build", "ranks 8", "hides -1": a line each.
std::string facts_of_process(const std::string& folder) {
  std::string said;
  const auto maps = read_file(folder + "/maps", 64 << 20).value_or(std::string());
  const auto has = [&](std::string_view name) { return maps.find(name) != std::string::npos; };
  if (has("/libtorch")) {
    said += "framework torch\n";
    if (has("/libtorch_cpu") && !has("/libtorch_cuda") && !has("/libtorch_hip")) {
      said += "cpu_build\n";
    }
  } else if (has("/jaxlib/")) {
    said += "framework jax\n";
  } else if (has("/libtensorflow")) {
    said += "framework tensorflow\n";
  }
  const auto environment = read_file(folder + "/environ", 4 << 20).value_or(std::string());
  for (const std::string_view entry : split(environment, '\0')) {
    for (const std::string_view name : {"WORLD_SIZE=", "OMPI_COMM_WORLD_SIZE=", "PMI_SIZE="}) {
      if (entry.starts_with(name)) said += fmt::format("ranks {}\n", entry.substr(name.size()));
    }
    constexpr std::string_view visible = "CUDA_VISIBLE_DEVICES=";
    if (!entry.starts_with(visible)) continue;
    const std::string_view list = trimmed(entry.substr(visible.size()));
    // CUDA reads up to the first number that is none.
    if (list.empty() || list.front() == '-') said += fmt::format("hides {}\n", list);
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

/// Since the oldest of them began.
Reading<Milliseconds> age_of(const std::vector<ProcessCounters>& processes,
                             const std::string& proc) {
  const auto text = read_file(proc + "/uptime", 256);
  const auto uptime = text ? parse_decimal(split(*text, ' ').front()) : std::nullopt;
  const long ticks = ::sysconf(_SC_CLK_TCK);
  if (!uptime || ticks <= 0 || processes.empty()) return Absent::failed;
  std::uint64_t first = processes.front().id.start_ticks;
  for (const ProcessCounters& process : processes) {
    first = std::min(first, process.id.start_ticks);
  }
  const double seconds = *uptime - static_cast<double>(first) / static_cast<double>(ticks);
  return Milliseconds(static_cast<std::int64_t>(std::max(0.0, seconds) * 1000));
}

/// Asked in a child: what is asked of another's memory can hang. `is_on`: it is on a GPU, so that
/// how it came there need not be asked.
SaidByProcess ask_process(pid_t chief, const std::vector<ProcessCounters>& processes, bool is_on,
                          Context& context) {
  const std::string& proc = context.sources().proc;
  const auto answer = ask_child(
      [&] {
        std::string text = facts_of_process(proc + "/" + std::to_string(chief));
        for (const ProcessCounters& process : processes) {
          if (is_on || text.starts_with("framework")) break;
          const std::string its = facts_of_process(fmt::format("{}/{}", proc, process.id.pid));
          if (its.starts_with("framework")) text = its;
        }
        if (!is_on) text += device_files_of(processes, proc);
        static_cast<void>(write_all(1, text));
        return 0;
      },
      context.clock(), std::chrono::seconds(1));
  SaidByProcess said;
  if (!answer) return said;
  bottleneck::CpuFacts facts{.age = age_of(processes, proc)};
  bool has_looked = false;
  for (const std::string_view line : split(answer->out, '\n')) {
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string_view name = line.substr(0, space);
    const std::string_view value = line.substr(std::min(space + 1, line.size()));
    if (name == "framework") said.framework = bottleneck::framework_from_name(value);
    if (name == "ranks" && !said.ranks) said.ranks = parse_unsigned(value);
    if (name == "cpu_build") facts.framework_for_cpu = true;
    if (name == "hides") facts.visible_devices = std::string(value);
    if (name != "files") continue;
    has_looked = true;
    facts.device_files = absent_from_name(value).value_or(Absent::failed);
    if (const auto count = parse_unsigned(value)) facts.device_files = *count;
  }
  if (has_looked) said.cpu_side = std::move(facts);
  return said;
}

/// One target while it is watched.
struct Watch {
  const BottleneckTarget* target = nullptr;
  bottleneck::Watched watched;
  bool was_there = false;
  bool has_ended = false;
  std::size_t left_out = 0;  // processes that were not looked at, the most of all looks
  std::vector<std::string> remarks = {};
};

class BottleneckWatch {
 public:
  BottleneckWatch(Context& context, const std::vector<BottleneckTarget>& targets, Live live)
      : context_(context), live_(std::move(live)), job_({.proc = context.sources().proc}) {
    const Snapshot first = live_.look(Depth::details);
    for (const BottleneckTarget& target : targets) {
      watches_.push_back({&target, bottleneck::Watched(first, target.devices, target.subject)});
    }
    take(first);
    for (Watch& watch : watches_) complete_header(watch, first);
  }

  void run(const WatchOptions& options) {
    const InterruptNote interrupt;
    const Instant begin = context_.clock().now();
    Instant next = begin;
    while (context_.clock().now() < begin + options.length && InterruptNote::signal() == 0) {
      next = std::max(next + options.interval, context_.clock().now());
      InterruptNote::wait_until(std::min(next, begin + options.length), context_.clock());
      show_progress(context_.clock().now() - begin, options.length);
      take(live_.look(Depth::details));
      if (std::ranges::all_of(watches_, &Watch::has_ended)) break;
    }
    if (context_.stderr_is_terminal()) show_line("");
    if (InterruptNote::signal() != 0)
      remark_all(tr("ended early: this is what was seen until then"));
  }

  std::vector<WatchedTarget> answers() {
    std::vector<WatchedTarget> answers;
    for (Watch& watch : watches_) {
      if (watch.left_out > 0) {
        watch.remarks.push_back(trf("{} of its processes were not looked at: it has more than {}",
                                    watch.left_out, JobProbe::most_processes));
      }
      answers.push_back({std::move(watch.watched.activity()), std::move(watch.remarks)});
    }
    return answers;
  }

 private:
  void take(const Snapshot& snapshot) {
    const HostCounters host = context_.sources().simulated ? HostCounters{} : job_.host();
    for (Watch& watch : watches_) {
      if (watch.has_ended) continue;
      JobCounters job{.host = host};
      job.roots = watch.target->roots;
      JobProcesses found = processes_of(*watch.target);
      job.processes = std::move(found.list);
      watch.left_out = std::max(watch.left_out, found.left_out);
      if (watch.was_there && job.processes.empty() && watch.target->ends_with_job) {
        watch.has_ended = true;
        watch.remarks.emplace_back(tr("the job ended while it was watched"));
        continue;
      }
      watch.was_there = watch.was_there || !job.processes.empty();
      watch.watched.add(context_.clock().now(), snapshot, job);
    }
  }

  /// A simulated server's own processes are nobody here, whoever has their numbers.
  JobProcesses processes_of(const BottleneckTarget& target) const {
    const Sources& sources = context_.sources();
    const bool is_made_up =
        sources.simulated && !sources.simulated_work && !target.keeper && !target.devices.empty();
    if (is_made_up) return {};
    return job_.processes(target.roots, target.keeper);
  }

  void complete_header(Watch& watch, const Snapshot& snapshot) {
    bottleneck::Activity& activity = watch.watched.activity();
    const std::vector<ProcessCounters> processes = processes_of(*watch.target).list;
    std::optional<pid_t> chief;
    bool is_on = false;
    for (const ProcessCounters& process : processes) {
      is_on = std::ranges::any_of(snapshot.gpu_processes,
                                  [&](const GpuProcess& one) { return one.pid == process.id.pid; });
      if (is_on || !chief) chief = process.id.pid;
      if (is_on) break;
    }
    activity.cpus = job_.cpus();
    activity.cpus_allowed =
        chief ? job_.cpus_allowed(*chief) : Reading<double>(Absent::not_sampled);
    if (chief) {
      const SaidByProcess said = ask_process(*chief, processes, is_on, context_);
      activity.framework = said.framework;
      activity.cpu_side = said.cpu_side;
      if (said.ranks) activity.ranks = *said.ranks;
    }
    if (context_.sources().simulated_work) take_simulated_facts(activity, processes);
  }

  /// What the writers of a simulated server's work say of it.
  void take_simulated_facts(bottleneck::Activity& activity,
                            const std::vector<ProcessCounters>& processes) {
    sim::WorkFolder folder(*context_.sources().simulated_work);
    for (const sim::WorkFile& file :
         folder.read(context_.clock().wall_now(), context_.sources().proc)) {
      const bool is_ours = file.process && std::ranges::any_of(processes, [&](const auto& one) {
                             return one.id.pid == file.process->pid;
                           });
      if (!is_ours) continue;
      activity.framework = bottleneck::framework_from_name(file.process->framework);
      if (file.process->ranks) activity.ranks = *file.process->ranks;
      if (file.process->cpus) {
        activity.cpus = *file.process->cpus;
        activity.cpus_allowed = static_cast<double>(*file.process->cpus);
      }
      if (file.process->cpus_allowed) activity.cpus_allowed = *file.process->cpus_allowed;
    }
  }

  void show_progress(Duration passed, milliseconds whole) {
    if (!context_.stderr_is_terminal()) return;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(passed).count();
    const std::string text =
        trf("looking: {} of {} s (Ctrl-C: enough)", seconds, whole.count() / 1000);
    show_line(text);
  }

  /// In place of what stood there: over it, and blanks over the rest of it.
  void show_line(const std::string& text) {
    const int width = display_width(text);
    const int blanks = std::max(0, shown_width_ - width);
    std::fputs(("\r" + text + std::string(static_cast<std::size_t>(blanks), ' ')).c_str(), stderr);
    if (text.empty()) std::fputs("\r", stderr);
    std::fflush(stderr);
    shown_width_ = width;
  }

  void remark_all(std::string_view text) {
    for (Watch& watch : watches_) watch.remarks.emplace_back(text);
  }

  Context& context_;
  Live live_;
  JobProbe job_;
  std::vector<Watch> watches_;
  int shown_width_ = 0;
};

}  // namespace

Result<std::vector<WatchedTarget>> watch_bottleneck(Context& context,
                                                    const std::vector<BottleneckTarget>& targets,
                                                    const WatchOptions& options) {
  auto live = Live::start(context);
  if (!live) return std::unexpected(std::move(live).error());
  BottleneckWatch watch(context, targets, std::move(*live));
  watch.run(options);
  return watch.answers();
}

}  // namespace berth
