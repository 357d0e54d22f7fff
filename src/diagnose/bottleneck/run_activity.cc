#include "diagnose/bottleneck/run_activity.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "diagnose/bottleneck/features.h"
#include "snapshot/recorded.h"

namespace berth::bottleneck {

namespace {

/// What a recorded reading is in a step.
struct StepReading {
  std::string_view key;
  void (*fill)(DeviceStep&, const DeviceSample& before, const DeviceSample& now);
};

template <auto InSample, auto InStep>
constexpr StepReading step_gauge(std::string_view key) {
  return {key, [](DeviceStep& step, const DeviceSample&, const DeviceSample& now) {
            step.*InStep = now.*InSample;
          }};
}

template <auto InSample, auto InStep>
constexpr StepReading step_counter(std::string_view key) {
  return {key, [](DeviceStep& step, const DeviceSample& before, const DeviceSample& now) {
            step.*InStep = growth(before.*InSample, now.*InSample);
          }};
}

/// No rule of explain's asks for it.
constexpr StepReading not_used_by_explain(std::string_view key) {
  return {key, [](DeviceStep&, const DeviceSample&, const DeviceSample&) {}};
}

constexpr auto step_readings = [] {
  using S = DeviceSample;
  using Step = DeviceStep;
  return std::to_array<StepReading>({
      step_gauge<&S::utilization_gpu, &Step::utilization>("utilization_gpu_percent"),
      step_gauge<&S::utilization_memory, &Step::utilization_memory>("utilization_memory_percent"),
      step_gauge<&S::memory_used, &Step::memory_used>("memory_used_bytes"),
      step_gauge<&S::power_draw, &Step::power>("power_draw_milliwatts"),
      step_gauge<&S::temperature, &Step::temperature>("temperature_celsius"),
      step_gauge<&S::clock_sm, &Step::clock_sm>("clock_sm_megahertz"),
      step_counter<&S::pcie_sent, &Step::pcie_sent>("pcie_sent_bytes"),
      step_counter<&S::pcie_received, &Step::pcie_received>("pcie_received_bytes"),
      not_used_by_explain("clock_memory_megahertz"),
      not_used_by_explain("energy_millijoules"),
  });
}();
static_assert(std::ranges::all_of(recorded_readings,
                                  [](const RecordedReading& one) {
                                    return std::ranges::count(step_readings, one.key,
                                                              &StepReading::key) == 1;
                                  }),
              "each recorded reading has a row in step_readings");

}  // namespace

DeviceStep step_of(const DeviceSample& before, const DeviceSample& now) {
  DeviceStep step;
  for (const StepReading& one : step_readings) one.fill(step, before, now);
  return step;
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
