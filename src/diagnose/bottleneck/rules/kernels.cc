// Kernels run, or wait for the thread that launches them, and use little of the GPU.

#include <algorithm>

#include "base/text.h"
#include "diagnose/bottleneck/advice.h"
#include "diagnose/bottleneck/bottleneck.h"

namespace berth::bottleneck {

namespace {

bool is_low(std::optional<double> share, double percent) { return share && *share * 100 < percent; }

Finding small(const Evidence& seen, const DeviceLoad& device) {
  Finding finding{
      .rule = "small_kernels",
      .severity = Severity::warning,
      .title = sentence("kernels run most of the time, and each uses a small part of the GPU"),
      .evidence = {busy_sentence(seen)},
      .meaning =
          sentence("Launching a kernel takes microseconds on the CPU: where each does little, "
                   "that is the limit. The batch is too small, or there are too many steps."),
      .steps = advice(Advice::bigger_work, seen.activity.framework)};
  if (device.sm) {
    finding.evidence.push_back(
        sentence("while kernels ran {} of the SMs were busy", percent(*device.sm)));
  } else {
    finding.doubt =
        sentence("how busy the SMs were is not told by this device: by its power alone");
  }
  if (device.power) {
    finding.evidence.push_back(sentence("it drew {} of its power limit", percent(*device.power)));
  }
  if (const ProcessLoad* main = main_process(seen); main != nullptr && seen.features.saw_threads) {
    finding.evidence.push_back(sentence("the thread that launches them is busy {} of the time",
                                        percent(main->best_thread)));
  }
  return finding;
}

/// Kernels run most of the time, and each of them fills a small part of the GPU.
std::optional<Cause> small_kernels(const Evidence& seen) {
  const Thresholds& t = seen.thresholds;
  if (!gpu_runs(seen) || seen.features.ranks > 1) return {};
  for (const DeviceLoad& device : seen.features.devices) {
    if (device.busy.value_or(0) < 1 - t.running_idle_share) continue;
    const bool few_sms = is_low(device.sm, t.small_sm_percent);
    const bool little_power = is_low(device.power, t.low_power_share * 100);
    // Without counters of the SMs the power has to be lower to tell as much.
    const bool very_little = is_low(device.power, t.low_power_share * 80);
    const bool memory_works =
        device.dram ? !is_low(device.dram, t.dram_percent)
                    : device.memory_busy.value_or(0) * 100 >= t.memory_utilization_percent;
    const bool is_small = device.sm ? few_sms && (little_power || !device.power) : very_little;
    if (!is_small || memory_works) continue;
    const double used = device.sm.value_or(device.power.value_or(0)) * *device.busy;
    return Cause{small(seen, device), std::max(seen.features.idle(), 1 - used)};
  }
  return {};
}

/// The two take turns: the thread works for about as long as no kernel runs, and sleeps meanwhile.
bool alternates(const Evidence& seen) {
  const ProcessLoad* main = main_process(seen);
  if (main == nullptr || !seen.features.saw_threads) return false;
  return main->best_thread >= (1 - seen.thresholds.saturated_idle_share / 2) * seen.features.idle();
}

Sentence title_of(bool is_saturated) {
  return is_saturated ? sentence("the GPU waits for one thread that is busy all the time")
                      : sentence("the GPU and one thread take turns: it waits while that works");
}

/// One thread of the main process does all that is done between the kernels.
std::optional<Cause> serial_python(const Evidence& seen) {
  const Features& features = seen.features;
  const bool is_saturated = main_is_saturated(seen);
  if (!gpu_waits(seen) || (!is_saturated && !alternates(seen))) return {};
  if (features.saturated_workers > 0) return {};
  const ProcessLoad& main = *main_process(seen);
  const bool of_a_record = seen.activity.taken_by == TakenBy::run_samples;
  // A record has the whole tree's CPU time alone: more than one thread's may be loaders.
  constexpr double about_one_cpu = 1.3;
  if (of_a_record && main.wanted > about_one_cpu) return {};
  Finding finding{
      .rule = "serial_python",
      .severity = Severity::warning,
      .title = title_of(is_saturated),
      .evidence = {busy_sentence(seen),
                   sentence("of process {} ({}) one thread has work {} of the time", main.pid,
                            printable(main.name),
                            percent(std::max(main.best_thread, std::min(1.0, main.wanted))))},
      .meaning =
          sentence("What it does between the kernels (loading, preparing, Python itself) runs "
                   "on one CPU, however many there are."),
      .steps = advice(Advice::overlap, seen.activity.framework),
      .doubt = doubt_of(seen)};
  if (of_a_record) {
    finding.title = sentence("the GPU waits, and the job uses about one CPU all the time");
    finding.evidence = {busy_sentence(seen),
                        sentence("its processes use {} CPUs together", decimal(main.wanted))};
    finding.doubt = sentence("a record has neither threads nor children: watch it while it runs");
    return Cause{std::move(finding), features.idle()};
  }
  finding.evidence.push_back(
      features.workers_all == 0
          ? sentence("it has no child processes that could load for it")
          : sentence("{} of its {} child processes do anything worth telling",
                     features.workers.processes.size(), features.workers_all));
  finding.steps.push_back(
      {sentence("see what it does"), "py-spy top --pid " + std::to_string(main.pid)});
  return Cause{std::move(finding), features.idle()};
}

/// Kernels run, and the GPU's memory is what they wait for.
std::optional<Cause> memory_bound(const Evidence& seen) {
  const Thresholds& t = seen.thresholds;
  if (!gpu_runs(seen)) return {};
  for (const DeviceLoad& device : seen.features.devices) {
    const bool dram_full = device.dram && *device.dram * 100 >= t.dram_percent;
    const bool tensor_idle = !device.tensor || *device.tensor * 100 < t.tensor_percent;
    const bool by_utilization =
        !device.dram && device.memory_busy.value_or(0) * 100 >= t.memory_utilization_percent;
    if (!tensor_idle || (!dram_full && !by_utilization)) continue;
    Finding finding{.rule = "memory_bound",
                    .severity = Severity::hint,
                    .title = sentence("the GPU's memory is the limit, not its arithmetic"),
                    .evidence = {busy_sentence(seen)},
                    .meaning = sentence("Kernels that do little with each number they read run as "
                                        "fast as the memory: element-wise work, norms, decoding."),
                    .steps = advice(Advice::less_traffic, seen.activity.framework)};
    if (dram_full) {
      finding.evidence.push_back(sentence(
          "while kernels ran {} of the memory's bandwidth was in use", percent(*device.dram)));
    } else {
      finding.evidence.push_back(
          sentence("the memory was read or written {} of the time", percent(*device.memory_busy)));
      finding.doubt = sentence("how much of the bandwidth was in use is not told by this device");
    }
    if (device.tensor) {
      finding.evidence.push_back(
          sentence("the tensor cores worked {} of that time", percent(*device.tensor)));
    }
    // It still computes: any other finding costs more.
    constexpr double modest = 0.05;
    return Cause{std::move(finding), modest};
  }
  return {};
}

}  // namespace

std::span<const BottleneckRule> kernels_rules() {
  static constexpr BottleneckRule rules[] = {
      {.find = small_kernels,
       .reports =
           {{"small_kernels",
             "kernels run most of the time and each uses a small part of the chip: high "
             "utilisation, low SM activity, low power; the thread that launches them is the limit "
             "(a batch that is too small, many short kernels). One process, no other ranks",
             "SM activity and power while kernels run; without SM counters the power alone, with a "
             "doubt",
             "batch size, torch.compile, jit_compile, scan"}}},
      {.find = serial_python,
       .reports =
           {{"serial_python",
             "the GPU waits for one thread of the main process that is busy all the time "
             "(preprocessing, tokenising, Python between the kernels, loading without any worker), "
             "while no worker is",
             "the busiest thread of the main process (busy also while no kernel runs: CUDA's "
             "waiting spins; or, where waits sleep, for about as long as none runs), its children",
             "num_workers above 0, torch.compile, tf.function, jit"}}},
      {.find = memory_bound,
       .reports = {{"memory_bound",
                    "kernels run most of the time and the memory's bandwidth is the limit: high "
                    "DRAM activity, little tensor activity",
                    "DRAM and tensor activity while kernels run; without them memory utilisation, "
                    "with a doubt. A hint",
                    "mixed precision, fusion"}}},
  };
  return rules;
}

}  // namespace berth::bottleneck
