#include "app/explain_bottleneck.h"

#include <algorithm>

#include "app/bottleneck_watch.h"
#include "app/output_file.h"
#include "app/records.h"
#include "app/verb.h"
#include "base/fd.h"
#include "base/process_stat.h"
#include "base/text.h"
#include "base/tr.h"
#include "diagnose/bottleneck/activity_json.h"
#include "diagnose/bottleneck/bottleneck.h"
#include "diagnose/bottleneck/run_activity.h"
#include "place/request.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"
#include "view/bottleneck_text.h"

namespace berth {

namespace {

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
std::optional<bottleneck::WholeLife> life_of(const Context& context, const std::string& run) {
  if (run.empty()) return std::nullopt;
  const auto record = find_run(context, run);
  if (!record) return std::nullopt;
  bottleneck::LifeMeter meter;
  if (!for_each_sample(*record, [&](const Sample& one) { meter.add(one); })) return std::nullopt;
  return meter.life();
}

BottleneckAnswer judged(bottleneck::Activity activity, std::vector<std::string> remarks = {}) {
  bottleneck::Bottleneck bottleneck = bottleneck::explain_bottleneck(activity);
  if (activity.simulated) {
    for (Finding& finding : bottleneck.findings) {
      finding.evidence.push_back(sentence("its GPU figures: invented by the simulated server"));
    }
    remarks.insert(remarks.begin(),
                   std::string(tr("GPU figures are invented by the simulated server: a finding "
                                  "that rests on them says nothing of the program")));
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

int explain_targets(Context& context, const std::vector<BottleneckTarget>& targets,
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
  const auto read = for_each_sample(run, [&](const Sample& one) {
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
  return answer_and_save(context, answers, options);
}

namespace {

std::string subject_of(const Device& device) {
  return device.index ? "GPU " + std::to_string(*device.index) : "GPU " + device.id.text();
}

/// The process that has most of the device's memory; null: nobody computes on it.
const GpuProcess* chief_of(const Device& device, const Snapshot& snapshot) {
  const GpuProcess* chief = nullptr;
  for (const GpuProcess* process : processes_on(device.id, snapshot)) {
    if (only_draws(*process)) continue;
    const auto memory = [](const GpuProcess& one) { return one.memory.get().value_or(Bytes{0}); };
    if (chief == nullptr || memory(*process) > memory(*chief)) chief = process;
  }
  return chief;
}

/// With it, those on the device that are of the same job as far as one can see: its ancestors
/// there, and the children of the same parent (Ray's actors, an engine beside its server, MPS).
std::vector<pid_t> family_of(const GpuProcess& chief, const Device& device,
                             const Snapshot& snapshot) {
  std::vector<pid_t> family = {chief.pid};
  const HostProcess* own = find_process(chief.pid, snapshot);
  if (own == nullptr || own->ancestors.empty()) return family;
  for (const GpuProcess* process : processes_on(device.id, snapshot)) {
    const HostProcess* other = find_process(process->pid, snapshot);
    if (process->pid == chief.pid || only_draws(*process) || other == nullptr) continue;
    const bool is_ancestor =
        std::ranges::find(own->ancestors, process->pid) != own->ancestors.end();
    constexpr pid_t init = 1;
    const bool is_sibling = !other->ancestors.empty() && own->ancestors.front() != init &&
                            other->ancestors.front() == own->ancestors.front() &&
                            other->uid.get() && own->uid.get() &&
                            *other->uid.get() == *own->uid.get();
    if (is_ancestor || is_sibling) family.push_back(process->pid);
  }
  return family;
}

BottleneckTarget target_of(const Device& device, const Snapshot& snapshot) {
  BottleneckTarget target{.subject = subject_of(device), .devices = {device.id}};
  const auto claims = claims_on(device.id, snapshot);
  const GpuProcess* chief = chief_of(device, snapshot);
  const Claim* claim = chief != nullptr ? claim_of(chief->pid, snapshot) : nullptr;
  if (claim == nullptr && !claims.empty()) claim = claims.front();
  if (claim != nullptr && claim->keeper.pid > 0) {
    target.roots = {claim->keeper.pid};
    target.keeper = claim->keeper.pid;
    target.run = claim->run;
  } else if (chief != nullptr) {
    target.roots = family_of(*chief, device, snapshot);
  }
  return target;
}

/// The devices that processes of a tree are on.
std::vector<DeviceId> devices_of(pid_t root, const Snapshot& snapshot) {
  std::vector<DeviceId> devices;
  for (const Device& device : snapshot.devices) {
    const bool is_on = std::ranges::any_of(snapshot.gpu_processes, [&](const GpuProcess& one) {
      if (one.device != device.id) return false;
      if (one.pid == root) return true;
      const HostProcess* process = find_process(one.pid, snapshot);
      return process != nullptr &&
             std::ranges::find(process->ancestors, root) != process->ancestors.end();
    });
    if (is_on) devices.push_back(device.id);
  }
  return devices;
}

}  // namespace

std::vector<BottleneckTarget> device_targets(const std::string& word, const Snapshot& snapshot) {
  std::vector<BottleneckTarget> targets;
  const auto patterns = parse_patterns(word);
  if (!patterns) return targets;
  for (const Device& device : snapshot.devices) {
    if (!is_supported(device)) continue;
    const bool is_named = std::ranges::any_of(
        *patterns, [&](const DevicePattern& pattern) { return matches(pattern, device); });
    if (is_named) targets.push_back(target_of(device, snapshot));
  }
  return targets;
}

std::vector<BottleneckTarget> busy_targets(const Snapshot& snapshot) {
  std::vector<BottleneckTarget> targets;
  for (const Device& device : snapshot.devices) {
    if (!is_supported(device)) continue;
    const DeviceState state = state_of(device, snapshot);
    const bool is_taken =
        state == DeviceState::busy || state == DeviceState::held || state == DeviceState::leased;
    if (is_taken) targets.push_back(target_of(device, snapshot));
  }
  return targets;
}

Result<BottleneckTarget> process_target(pid_t pid, const Snapshot& snapshot,
                                        const std::string& proc) {
  const auto stat = read_process_stat(pid, proc);
  if (!stat) {
    return fail(ErrorCode::not_found,
                trf("there is no process {} that can be seen here, and no GPU of that number; "
                    "`berth ps` lists what is on the GPUs",
                    pid));
  }
  BottleneckTarget target{.subject = "process " + std::to_string(pid), .roots = {pid}};
  target.ends_with_job = true;
  // A worker is explained by the job that it works for: the nearest parent that is on a GPU.
  constexpr int deepest = 64;
  pid_t at = pid;
  for (int depth = 0; depth < deepest && at > 1; ++depth) {
    const bool is_on = std::ranges::any_of(snapshot.gpu_processes,
                                           [&](const GpuProcess& one) { return one.pid == at; });
    if (is_on) {
      target.roots = {at};
      break;
    }
    const auto parent = read_process_stat(at, proc);
    if (!parent) break;
    at = parent->parent;
  }
  target.devices = devices_of(target.roots.front(), snapshot);
  const Claim* claim = claim_of(target.roots.front(), snapshot);
  if (claim != nullptr) target.run = claim->run;
  if (claim != nullptr && target.devices.empty()) {
    for (const ClaimedDevice& one : claim->devices) target.devices.push_back(one.device);
  }
  return target;
}

BottleneckTarget run_target(const RunRecord& run) {
  BottleneckTarget target{.subject = "run " + run.manifest.id,
                          .roots = {run.manifest.keeper.pid},
                          .keeper = run.manifest.keeper.pid,
                          .run = run.manifest.id,
                          .ends_with_job = true};
  for (const Device& device : run.manifest.given.devices) target.devices.push_back(device.id);
  return target;
}

}  // namespace berth
