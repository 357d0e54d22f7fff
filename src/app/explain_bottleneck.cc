#include "app/explain_bottleneck.h"

#include <algorithm>
#include <utility>

#include "app/live.h"
#include "app/progress.h"
#include "app/records.h"
#include "app/terminal.h"
#include "app/verb.h"
#include "base/fd.h"
#include "base/output_file.h"
#include "base/text.h"
#include "base/tr.h"
#include "diagnose/bottleneck/activity_json.h"
#include "diagnose/bottleneck/activity_recorder.h"
#include "diagnose/bottleneck/bottleneck.h"
#include "diagnose/bottleneck/run_activity.h"
#include "probe/procfs/job_probe.h"
#include "probe/sim/work.h"
#include "snapshot/questions.h"
#include "view/bottleneck_text.h"

namespace berth {

namespace {

using std::chrono::milliseconds;

struct WatchedTarget {
  bottleneck::Activity activity;
  std::vector<Sentence> remarks;
};

struct WatchOptions {
  std::chrono::milliseconds length{10'000};
  std::chrono::milliseconds interval{500};
};

/// One target while it is watched.
struct Watch {
  const bottleneck::Target* target = nullptr;
  bottleneck::ActivityRecorder recorder;
  std::size_t left_out = 0;  // processes that were not looked at, the most of all looks
  std::vector<Sentence> remarks = {};
};

class BottleneckWatch {
 public:
  BottleneckWatch(Context& context, const std::vector<bottleneck::Target>& targets, Live live)
      : context_(context), live_(std::move(live)), job_({.proc = context.sources().proc}) {
    const Snapshot first = live_.look(Depth::details);
    for (const bottleneck::Target& target : targets) {
      watches_.push_back({&target, bottleneck::ActivityRecorder(first, target)});
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
      const auto has_ended = [](const Watch& watch) { return watch.recorder.has_ended(); };
      if (std::ranges::all_of(watches_, has_ended)) break;
    }
    progress_.clear();
    if (InterruptNote::signal() != 0)
      remark_all(sentence("ended early: this is what was seen until then"));
  }

  std::vector<WatchedTarget> answers() {
    std::vector<WatchedTarget> answers;
    for (Watch& watch : watches_) {
      if (watch.left_out > 0) {
        watch.remarks.push_back(
            sentence("{} of its processes were not looked at: it has more than {}", watch.left_out,
                     JobProbe::most_processes));
      }
      answers.push_back({std::move(watch.recorder.activity()), std::move(watch.remarks)});
    }
    return answers;
  }

 private:
  void take(const Snapshot& snapshot) {
    const HostCounters host = context_.sources().simulated ? HostCounters{} : job_.host();
    for (Watch& watch : watches_) {
      if (watch.recorder.has_ended()) continue;
      JobProcesses found = processes_of(*watch.target);
      watch.left_out = std::max(watch.left_out, found.left_out);
      watch.recorder.add(
          context_.clock().now(), snapshot,
          {.processes = std::move(found.list), .roots = watch.target->roots, .host = host});
      if (watch.recorder.has_ended()) {
        watch.remarks.push_back(sentence("the job ended while it was watched"));
      }
    }
  }

  /// A simulated server's own processes do not exist here, even if real ones have their numbers.
  JobProcesses processes_of(const bottleneck::Target& target) const {
    const Sources& sources = context_.sources();
    const bool is_made_up =
        sources.simulated && !sources.simulated_work && !target.keeper && !target.devices.empty();
    if (is_made_up) return {};
    return job_.processes(target.roots, target.keeper);
  }

  /// Of its devices; of a job without any, of those that are here. Nothing: they are of several
  /// kinds.
  static std::optional<DeviceKind> kind_of(const bottleneck::Target& target,
                                           const Snapshot& snapshot) {
    std::optional<DeviceKind> kind;
    for (const Device& device : snapshot.devices) {
      const bool is_its = target.devices.empty() ? is_supported(device) && !device.parent
                                                 : contains(target.devices, device.id);
      if (!is_its) continue;
      if (kind && *kind != device.kind) return std::nullopt;
      kind = device.kind;
    }
    return kind;
  }

  void complete_header(Watch& watch, const Snapshot& snapshot) {
    bottleneck::Activity& activity = watch.recorder.activity();
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
      const JobComputing said = job_.computing(*chief, processes, is_on,
                                               kind_of(*watch.target, snapshot), context_.clock());
      activity.framework = bottleneck::framework_from_name(said.framework);
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
    using FloatSeconds = std::chrono::duration<double>;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(passed).count();
    progress_.show(FloatSeconds(passed) / FloatSeconds(whole),
                   trf("looking: {} of {} s (Ctrl-C: enough)", seconds, whole.count() / 1000));
  }

  void remark_all(const Sentence& text) {
    for (Watch& watch : watches_) watch.remarks.push_back(text);
  }

  Context& context_;
  Live live_;
  JobProbe job_;
  std::vector<Watch> watches_;
  ProgressBar progress_{context_, ProgressBar::From::at_once};
};

/// Watches all of them at once. Ctrl-C ends it early: what was seen until then is the answer;
/// SIGTERM too. Progress is shown on stderr where that is a terminal.
Result<std::vector<WatchedTarget>> watch_bottleneck(Context& context,
                                                    const std::vector<bottleneck::Target>& targets,
                                                    const WatchOptions& options) {
  auto live = Live::start(context);
  if (!live) return std::unexpected(std::move(live).error());
  BottleneckWatch watch(context, targets, std::move(*live));
  watch.run(options);
  return watch.answers();
}

int answer(Context& context, const std::vector<BottleneckAnswer>& answers,
           const BottleneckOptions& options) {
  std::optional<Severity> worst;
  std::string text;
  bool saw_anything = false;
  for (const BottleneckAnswer& one : answers) {
    const auto found = worst_of(one.bottleneck.findings);
    if (found && (!worst || *found > *worst)) worst = found;
    saw_anything = saw_anything || one.bottleneck.features.busy;
    if (!text.empty()) text += "\n";
    text += render_bottleneck(one, context.out_uncut());
  }
  print(options.json ? bottleneck_json(answers) : text);
  if (!saw_anything && !worst) return could_not_look;
  return worst ? static_cast<int>(*worst) : exit_code::ok;
}

/// What its record tells of a run that still goes on.
std::optional<bottleneck::WholeLife> life_of(Context& context, const std::string& run) {
  if (run.empty()) return std::nullopt;
  const auto record = find_run(context, run);
  if (!record) return std::nullopt;
  bottleneck::LifeMeter meter;
  const auto read = read_samples(context, *record, [&](const Sample& one) { meter.add(one); });
  if (!read) return std::nullopt;
  return meter.life();
}

BottleneckAnswer judged(bottleneck::Activity activity, std::vector<Sentence> remarks = {}) {
  bottleneck::Bottleneck bottleneck = bottleneck::explain_bottleneck(activity);
  if (activity.simulated) {
    for (Finding& finding : bottleneck.findings) {
      finding.evidence.push_back(sentence("its GPU figures: invented by the simulated server"));
    }
    remarks.insert(remarks.begin(),
                   sentence("GPU figures are invented by the simulated server: a finding "
                            "that rests on them says nothing of the program"));
  }
  return {.activity = std::move(activity),
          .bottleneck = std::move(bottleneck),
          .remarks = std::move(remarks)};
}

/// A series per answer; of several the first has the name, the others a number more.
Result<void> save(const std::vector<BottleneckAnswer>& answers, const std::string& path) {
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::string name = i == 0 ? path : path + "." + std::to_string(i + 1);
    const auto written = write_output(name, to_lines(answers[i].activity), Existing::keep);
    if (!written) return written;
  }
  return {};
}

Result<std::string> series_text(const std::string& path) {
  constexpr std::size_t longest = 256 << 20;
  if (path == "-") return read_all(0, longest);
  return read_named_file(path, longest);
}

/// The answer first: what was watched is not lost where it cannot be saved.
int answer_and_save(Context& context, const std::vector<BottleneckAnswer>& answers,
                    const BottleneckOptions& options) {
  const int code = answer(context, answers, options);
  if (options.save.empty()) return code;
  const auto saved = save(answers, options.save);
  return saved ? code : report(saved.error(), could_not_look);
}

}  // namespace

int explain_targets(Context& context, const std::vector<bottleneck::Target>& targets,
                    const BottleneckOptions& options) {
  if (!options.save.empty()) {
    if (const auto place = check_output(options.save, Existing::keep); !place) {
      return report(place.error(), could_not_look);
    }
  }
  auto watched = watch_bottleneck(context, targets, {.length = options.length});
  if (!watched) return report(watched.error(), could_not_look);
  std::vector<BottleneckAnswer> answers;
  for (std::size_t i = 0; i < watched->size(); ++i) {
    WatchedTarget& one = (*watched)[i];
    one.activity.life = life_of(context, targets[i].run);
    answers.push_back(judged(std::move(one.activity), std::move(one.remarks)));
  }
  return answer_and_save(context, answers, options);
}

int explain_series(Context& context, const std::string& path, const BottleneckOptions& options) {
  const auto text = series_text(path);
  if (!text) return report(text.error(), could_not_look);
  if (text->starts_with("\x1f\x8b")) {
    complain(trf("{} is compressed: zcat {} | berth explain --series -", printable(path),
                 shell_quoted(printable(path))));
    return could_not_look;
  }
  auto activity = bottleneck::activity_from_lines(*text);
  if (!activity) return report(activity.error(), could_not_look);
  std::vector<BottleneckAnswer> answers;
  answers.push_back(judged(std::move(*activity)));
  return answer(context, answers, options);
}

int explain_run_bottleneck(Context& context, const RunRecord& run,
                           const BottleneckOptions& options) {
  ThinnedSamples samples;
  bottleneck::LifeMeter meter;
  const auto read = read_samples(context, run, [&](const Sample& one) {
    samples.add(one);
    meter.add(one);
  });
  if (!read) return report(read.error(), could_not_look);
  std::vector<BottleneckAnswer> answers;
  bottleneck::Activity activity = bottleneck::activity_of(run.manifest, std::move(samples).take());
  activity.life = meter.life();
  answers.push_back(judged(std::move(activity)));
  for (const DeviceSummary& device : summary_of(run).devices) {
    answers.back().run_means.push_back(device.mean_utilization);
  }
  if (options.follows_the_end) {
    const bottleneck::Bottleneck& found = answers.back().bottleneck;
    if (!found.features.busy && found.findings.empty() && options.save.empty()) {
      return exit_code::ok;
    }
    print("\n");
  }
  return answer_and_save(context, answers, options);
}

}  // namespace berth
