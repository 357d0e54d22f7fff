#include "diagnose/bottleneck/run_activity.h"

#include <algorithm>

#include "diagnose/bottleneck/features.h"
#include "snapshot/recorded.h"

namespace berth::bottleneck {

DeviceStep step_of(const DeviceSample& before, const DeviceSample& now) {
  return {.utilization = now.utilization_gpu,
          .utilization_memory = now.utilization_memory,
          .memory_used = now.memory_used,
          .power = now.power_draw,
          .temperature = now.temperature,
          .clock_sm = now.clock_sm,
          .pcie_sent = growth(before.pcie_sent, now.pcie_sent),
          .pcie_received = growth(before.pcie_received, now.pcie_received)};
}

namespace {

/// The whole tree as one process: the record has no more.
ProcessStep tree_step(const Sample& before, const Sample& now, pid_t pid) {
  ProcessStep step{.pid = pid, .name = "job"};
  step.cpu = growth(Reading<Milliseconds>(before.tree.cpu), Reading<Milliseconds>(now.tree.cpu));
  step.storage_read = growth(before.tree.read, now.tree.read);
  step.written = growth(before.tree.written, now.tree.written);
  Bytes memory{0};
  bool knows_memory = true;
  for (const ProcessSample& process : now.processes) {
    if (std::ranges::find(step.devices, process.device) == step.devices.end() &&
        process.device < now.devices.size()) {
      step.devices.push_back(process.device);
    }
    knows_memory = knows_memory && process.memory.get().has_value();
    memory += process.memory.get().value_or(Bytes{0});
  }
  if (knows_memory) step.gpu_memory = memory;
  return step;
}

}  // namespace

DeviceFacts facts_of(const Device& device) {
  return {.id = device.id,
          .index = device.index,
          .name = device.name,
          .memory_total = device.memory_total,
          .power_limit = device.power_limit,
          .power_limit_default = device.power_limit_default,
          .clock_sm_max = device.clock_sm_max,
          .pcie_generation = device.pcie_generation_max.get() ? device.pcie_generation_max
                                                              : device.pcie_generation,
          .pcie_width = device.pcie_width};
}

void LifeMeter::add(const Sample& sample) {
  if (!first_) first_ = sample.at;
  life_.span = Milliseconds(std::max<std::int64_t>(0, sample.at.unix_ms - first_->unix_ms));
  ++life_.looks;
  is_whole_ = is_whole_ && !sample.devices.empty();
  for (const DeviceSample& device : sample.devices) {
    const auto& busy = device.utilization_gpu.get();
    is_whole_ = is_whole_ && busy.has_value();
    if (busy) life_.busiest = std::max(life_.busiest, *busy);
  }
  Bytes memory{0};
  for (const ProcessSample& process : sample.processes) {
    memory += process.memory.get().value_or(Bytes{0});
  }
  life_.memory = std::max(life_.memory, memory);
}

std::optional<WholeLife> LifeMeter::life() const {
  if (!is_whole_ || life_.looks < 2) return std::nullopt;
  return life_;
}

Framework framework_of(const Manifest& run) {
  if (!run.python) return Framework::unknown;
  Framework found = Framework::unknown;
  for (const auto& [name, version] : run.python->packages) {
    const Framework one = framework_from_name(name);
    if (one == Framework::unknown) continue;
    if (found != Framework::unknown && found != one) return Framework::unknown;
    found = one;
  }
  return found;
}

Activity activity_of(const Manifest& run, std::span<const Sample> samples) {
  constexpr std::int64_t longest_gap = 60'000;
  Activity activity{.taken = run.started,
                    .taken_by = TakenBy::run_samples,
                    .simulated = run.given.simulated,
                    .subject = "run " + run.id,
                    .framework = framework_of(run)};
  activity.cpus = run.machine.cpu_count;
  for (const Device& device : run.given.devices) activity.devices.push_back(facts_of(device));
  Milliseconds end{0};
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const Sample& before = samples[i - 1];
    const Sample& now = samples[i];
    const std::int64_t span = now.at.unix_ms - before.at.unix_ms;
    if (span <= 0 || span > longest_gap) continue;
    end += Milliseconds(span);
    ActivitySample step{.end = end, .span = Milliseconds(span)};
    for (std::size_t at = 0; at < activity.devices.size(); ++at) {
      const bool has_both = at < before.devices.size() && at < now.devices.size();
      step.devices.push_back(has_both ? step_of(before.devices[at], now.devices[at])
                                      : DeviceStep{});
    }
    step.processes.push_back(tree_step(before, now, run.job ? run.job->pid : 1));
    activity.steps.push_back(std::move(step));
  }
  return activity;
}

}  // namespace berth::bottleneck
