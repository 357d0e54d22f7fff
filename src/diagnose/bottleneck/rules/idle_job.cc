// The job asks nothing of the GPU: nobody is there, nothing computes, or its memory is swapped out.

#include "base/text.h"
#include "diagnose/bottleneck/bottleneck.h"
#include "snapshot/device_kind.h"

namespace berth::bottleneck {

namespace {

/// Or may be: who is there was not told.
bool anybody_else(const Evidence& seen) {
  for (const DeviceLoad& device : seen.features.devices) {
    if (device.most_others > 0) return true;
    if (seen.activity.taken_by == TakenBy::watch && !device.knows_others) return true;
  }
  return false;
}

double seconds_in(Milliseconds time) { return static_cast<double>(time.count()) / 1000; }

/// The job works, and no process of it has a GPU's device file open.
bool is_on_cpu(const Evidence& seen) {
  const Activity& activity = seen.activity;
  if (!activity.cpu_side) return false;
  const auto& files = activity.cpu_side->device_files.get();
  // A simulated server's devices have no files to open.
  return files && *files == 0 && !activity.simulated && main_process(seen) == nullptr &&
         seen.features.saw_processes && seen.features.wanted >= seen.thresholds.working_share;
}

const DeviceKindFacts& kind_of(const CpuFacts& facts) {
  return facts.kind && facts_of(*facts.kind).is_supported ? facts_of(*facts.kind)
                                                          : facts_of(unnamed_vendor);
}

std::vector<Finding::Step> steps_onto_gpu(const Activity& activity) {
  const CpuFacts& facts = *activity.cpu_side;
  const TorchFacts& torch = kind_of(facts).torch;
  if (facts.visible_devices.get()) {
    return {{sentence("unset {}, or let berth give it a GPU", printable(facts.hiding_variable)),
             "unset " + printable(facts.hiding_variable)}};
  }
  if (facts.framework_for_cpu && !torch.how_to_get.empty()) {
    return {{Sentence(torch.how_to_get), "berth doctor"}};
  }
  // What PyTorch has for the others is not known.
  const bool is_known = !torch.device_type.empty();
  if (facts.framework_for_cpu && is_known) {
    return {{sentence("install a build of PyTorch for CUDA: doctor says which"), "berth doctor"}};
  }
  std::vector<Finding::Step> steps;
  const bool may_be_torch =
      activity.framework == Framework::torch || activity.framework == Framework::unknown;
  if (may_be_torch && is_known) {
    steps.push_back(
        {sentence("move the model and each batch there: model.to(device), batch.to(device), with "
                  "device = \"{}\"",
                  torch.device_type),
         ""});
  }
  steps.push_back({sentence("see whether its framework can use a GPU at all"), "berth doctor"});
  return steps;
}

/// The program computes, and not on a GPU.
std::optional<Cause> on_cpu(const Evidence& seen) {
  if (!is_on_cpu(seen)) return {};
  const CpuFacts& facts = *seen.activity.cpu_side;
  Finding finding{
      .rule = "on_cpu",
      .severity = Severity::warning,
      .title = sentence("the program runs on the CPU: it has opened no GPU device file"),
      .evidence = {sentence("none of its processes has a file such as {}* open (/proc/PID/fd)",
                            kind_of(facts).file_beginnings.front()),
                   sentence("the job's processes use {} CPUs", decimal(seen.features.cpu))},
      .meaning = sentence("What computes on a GPU has its device file open from its first call "
                          "there until it ends."),
      .steps = steps_onto_gpu(seen.activity)};
  if (const auto& list = facts.visible_devices.get()) {
    finding.evidence.push_back(list->empty()
                                   ? sentence("{} is empty in its environment: it sees no GPU",
                                              printable(facts.hiding_variable))
                                   : sentence("{} is {} in its environment: it sees no GPU",
                                              printable(facts.hiding_variable), printable(*list)));
  } else if (facts.framework_for_cpu) {
    finding.evidence.push_back(
        sentence("its PyTorch is a build for the CPU alone: no library for GPUs is loaded"));
  }
  constexpr double start = 60;  // imports and the first data may take that long
  const auto& age = facts.age.get();
  if (age && seconds_in(*age) < start) {
    finding.doubt = sentence("it began {} s ago: it may still be importing or reading its data",
                             decimal(seconds_in(*age)));
  }
  return Cause{std::move(finding), 1};
}

/// In all the run's time no look found the GPU computing.
bool never_computed(const Evidence& seen) {
  constexpr double shortest = 60;
  const auto& life = seen.activity.life;
  if (!life || seconds_in(life->span) < shortest || life->busiest.count() > 0) return false;
  return seen.features.busy && *seen.features.busy <= 0 && life->memory.count() > 0;
}

std::optional<Cause> no_kernel_ever(const Evidence& seen) {
  if (!never_computed(seen)) return {};
  const WholeLife& life = *seen.activity.life;
  Finding finding{
      .rule = "no_kernel_ever",
      .severity = Severity::warning,
      .title = sentence("the job holds memory of the GPU, and no kernel of it was ever seen there"),
      .evidence = {sentence("in {} looks over {} s its utilisation was 0 % each time", life.looks,
                            decimal(seconds_in(life.span))),
                   sentence("the most memory that the job held there: {}",
                            short_size(life.memory))},
      .meaning = sentence("A framework takes the GPU's memory when it is asked for it; it computes "
                          "there only what was moved there."),
      .steps = {{sentence("move the batches as well as the model: batch.to(device)"), ""}},
      .doubt = sentence("utilisation is told in whole percent: a kernel of less is not seen")};
  if (const ProcessLoad* main = main_process(seen);
      main != nullptr && seen.activity.taken_by == TakenBy::watch) {
    finding.steps.push_back(
        {sentence("see where it stands"), "py-spy dump --pid " + std::to_string(main->pid)});
  }
  if (seen.features.saw_processes) {
    finding.evidence.push_back(
        sentence("the job's processes use {} CPUs", decimal(seen.features.cpu)));
  }
  return Cause{std::move(finding), 1};
}

/// Nobody is on the GPU.
std::optional<Cause> nothing_running(const Evidence& seen) {
  const Features& features = seen.features;
  if (is_on_cpu(seen) || never_computed(seen)) return {};
  if (!gpu_is_still(seen) || main_process(seen) != nullptr || anybody_else(seen)) return {};
  if (seen.activity.taken_by == TakenBy::run_samples) {
    // Between two looks of a record somebody may have come and gone.
    constexpr double shortest = 5;
    if (features.gpu_memory.value_or(1) > 0 || features.seconds < shortest) return {};
  }
  Finding finding{
      .rule = "nothing_running",
      .severity = Severity::warning,
      .title = sentence("no process is on the GPU: there is nothing that could keep it busy"),
      .evidence = {sentence("the driver lists no process on it"), busy_sentence(seen)},
      .meaning =
          sentence("A program is on a GPU from its first call that needs one (a tensor moved "
                   "there) until it ends."),
      .steps = {{sentence("see whether the job still runs, and what it says"), "berth runs"}}};
  if (features.saw_processes && features.cpu > seen.thresholds.asleep_share) {
    finding.evidence.push_back(sentence("the job's processes use {} CPUs", decimal(features.cpu)));
    finding.steps.insert(finding.steps.begin(),
                         {sentence("it may still be starting: importing, reading its data"), ""});
  }
  return Cause{std::move(finding), 1};
}

/// Somebody is on the GPU, holds its memory and computes nowhere.
std::optional<Cause> memory_held_idle(const Evidence& seen) {
  const Features& features = seen.features;
  if (!gpu_is_still(seen) || never_computed(seen)) return {};
  const ProcessLoad* main = main_process(seen);
  if (main == nullptr) return {};
  if (features.saw_processes && features.wanted > seen.thresholds.asleep_share) return {};
  for (const ProcessLoad& worker : features.workers.processes) {
    if (worker.disk_wait >= seen.thresholds.disk_wait_share) return {};
  }
  if (main->disk_wait >= seen.thresholds.disk_wait_share) return {};
  Finding finding{
      .rule = "memory_held_idle",
      .severity = Severity::warning,
      .title = sentence("memory of the GPU is held, and nothing computes"),
      .evidence = {busy_sentence(seen)},
      .meaning = sentence("A notebook that is left open, a program that waits for input, a "
                          "debugger or a deadlock. Meanwhile nobody else has the memory."),
      .steps = {{sentence("end it, or restart the notebook's kernel, if nobody needs it"), ""},
                {sentence("see where it stands"),
                 "py-spy dump --pid " + std::to_string(main->pid)}},
      .doubt = doubt_of(seen)};
  if (finding.doubt.empty() && !seen.activity.life) {
    finding.doubt = sentence("what it did before is not known: only this time was looked at");
  }
  if (features.gpu_memory) {
    finding.evidence.push_back(
        sentence("{} of the GPU's memory is held by process {} ({})",
                 short_size(Bytes(static_cast<std::uint64_t>(*features.gpu_memory))), main->pid,
                 printable(main->name)));
  }
  if (features.saw_processes) {
    finding.evidence.push_back(
        sentence("the job's processes used {} of one CPU", percent(features.cpu)));
  }
  return Cause{std::move(finding), 1};
}

/// Memory of the job was swapped out and is read back.
std::optional<Cause> swapping(const Evidence& seen) {
  const Features& features = seen.features;
  const Thresholds& t = seen.thresholds;
  if (!gpu_waits(seen)) return {};
  const double swapped = features.swapped_bytes.value_or(0);
  const bool reads_back = features.swap_rate.value_or(0) >= t.swap_rate;
  const bool faults = features.major_faults.value_or(0) >= t.major_faults_rate;
  if (swapped <= 0 || (!reads_back && !faults)) return {};
  Finding finding{
      .rule = "swapping",
      .severity = Severity::warning,
      .title = sentence("the GPU waits for memory that was swapped out"),
      .evidence = {busy_sentence(seen),
                   sentence("{} of the job's memory is swapped out",
                            short_size(Bytes(static_cast<std::uint64_t>(swapped))))},
      .meaning = sentence("The machine or the job's limit has too little memory. Each touch of a "
                          "page that is out is a read from the disk."),
      .steps = {
          {sentence("load with fewer workers, or smaller batches ahead (prefetch_factor)"), ""},
          {sentence("see who has the memory"), "ps aux --sort=-rss | head"}}};
  if (features.swap_rate) {
    finding.evidence.push_back(
        sentence("the machine reads {} back from the swap space", size_rate(*features.swap_rate)));
  }
  if (features.major_faults) {
    finding.evidence.push_back(sentence("{} times a second the job waited for a page from the disk",
                                        decimal(*features.major_faults)));
  }
  return Cause{std::move(finding), features.idle()};
}

}  // namespace

std::span<const BottleneckRule> idle_job_rules() {
  static constexpr BottleneckRule rules[] = {
      {.find = on_cpu,
       .reports =
           {{"on_cpu", "the program computes on the CPU and has opened no GPU device file",
             "device files that its processes have open, CPUs that it uses; the variables that "
             "hide devices, and the build of PyTorch that it runs with",
             "show it a GPU, install a build for it, move model and batches"}}},
      {.find = no_kernel_ever,
       .reports = {{"no_kernel_ever",
                    "a run holds memory of its GPU, where in all its time no kernel was seen",
                    "utilisation 0 in every look of the record, a minute and more; memory held",
                    "move the batches as well as the model"}}},
      {.find = nothing_running,
       .reports =
           {{"nothing_running",
             "no process of anybody's is on the GPU: there is nothing that could keep it busy",
             "the driver lists no process there; what the job's processes use meanwhile",
             "see whether the job still runs"}}},
      {.find = memory_held_idle,
       .reports = {{"memory_held_idle",
                    "a process holds memory of the GPU; neither the GPU nor the process and its "
                    "children do anything (an idle notebook, a debugger, a dead-locked job)",
                    "memory of the process there, no kernel, less than a twentieth of one CPU",
                    "end it; where it stands (py-spy)"}}},
      {.find = swapping,
       .reports = {{"swapping", "the GPU waits while the job's memory is swapped in from the disk",
                    "memory swapped out, bytes swapped in, major faults",
                    "fewer workers, less ahead"}}},
  };
  return rules;
}

}  // namespace berth::bottleneck
