#include "diagnose/bottleneck/activity_recorder.h"

#include <algorithm>
#include <cmath>

#include "diagnose/bottleneck/features.h"
#include "diagnose/bottleneck/run_activity.h"
#include "snapshot/questions.h"

namespace berth::bottleneck {

namespace {

/// Over the step, by the driver's own samples where it keeps some.
void put_utilization(const Device& device, Milliseconds span, DeviceStep& step) {
  step.utilization = load_now(device);
  if (!device.utilization_history.get()) return;
  double sum = 0;
  double least = 100;
  double most = 0;
  int count = 0;
  for (const UtilizationSample& sample : *device.utilization_history.get()) {
    if (sample.age.count() >= span.count()) continue;
    const double busy = sample.busy.count();
    sum += busy;
    least = std::min(least, busy);
    most = std::max(most, busy);
    ++count;
  }
  if (count == 0) return;
  step.utilization = Percent(sum / count);
  step.utilization_min = Percent(least);
  step.utilization_max = Percent(most);
}

Throttle throttle_in(ClockReasons reasons) {
  using enum ClockReason;
  const bool by_power = has_any(reasons, power_cap, power_brake);
  const bool by_heat = has_any(reasons, driver_thermal, hardware_thermal);
  const bool by_other = has_any(reasons, set_clocks, sync_boost, display, hardware);
  return {.power = by_power, .heat = by_heat, .other = by_other && !by_power && !by_heat};
}

Reading<Bytes> nvlink_bytes(const Device& device, Milliseconds span) {
  const auto sent = device.details.get<BytesPerSecond>(Detail::nvlink_sent_rate);
  const auto received = device.details.get<BytesPerSecond>(Detail::nvlink_received_rate);
  if (!sent.get()) return sent.why();
  if (!received.get()) return received.why();
  const double rate = static_cast<double>(sent.get()->count() + received.get()->count());
  return Bytes(static_cast<std::uint64_t>(rate * static_cast<double>(span.count()) / 1000));
}

Reading<Milliwatts> power_of(const Device& device) {
  const auto mean = device.details.get<Milliwatts>(Detail::window_power_mean);
  return mean.get() ? mean : device.power_draw;
}

const Device* device_in(const std::vector<Device>& devices, const DeviceId& id) {
  const auto found = std::ranges::find(devices, id, &Device::id);
  return found == devices.end() ? nullptr : &*found;
}

std::uint64_t cpu_ns(const ProcessCounters& process) {
  std::uint64_t sum = 0;
  for (const ThreadCounters& thread : *process.threads.get()) sum += thread.cpu_ns;
  return sum;
}

/// What its threads ran and waited in the step; a thread that was not there before counts whole.
void put_threads(const ProcessCounters& now, const ProcessCounters* before, ProcessStep& step) {
  if (!now.threads.get()) {
    step.threads = now.threads.why();
    step.run_delay = now.threads.why();
    return;
  }
  std::map<pid_t, ThreadCounters> earlier;
  if (before != nullptr && before->threads.get()) {
    for (const ThreadCounters& thread : *before->threads.get()) earlier[thread.tid] = thread;
  }
  std::vector<ThreadStep> threads;
  std::uint64_t delay = 0;
  std::uint64_t ran = 0;
  for (const ThreadCounters& thread : *now.threads.get()) {
    const ThreadCounters& old = earlier[thread.tid];
    const std::uint64_t cpu = thread.cpu_ns - std::min(thread.cpu_ns, old.cpu_ns);
    ran += cpu;
    delay += thread.delay_ns - std::min(thread.delay_ns, old.delay_ns);
    const auto milliseconds = static_cast<std::int64_t>((cpu + 500'000) / 1'000'000);
    // Most of hundreds of threads sleep, and say nothing by it.
    if (milliseconds > 0 || thread.state != 'S' || thread.tid == now.id.pid) {
      threads.push_back({thread.tid, thread.state, Milliseconds(milliseconds)});
    }
  }
  step.threads = std::move(threads);
  step.run_delay =
      now.knows_delays
          ? Reading<Milliseconds>(Milliseconds(static_cast<std::int64_t>(delay / 1'000'000)))
          : Reading<Milliseconds>(Absent::unsupported);
  // Finer than the ticks of the process's own counter, while no thread ended.
  if (now.knows_delays && before != nullptr && before->threads.get() &&
      cpu_ns(now) >= cpu_ns(*before)) {
    step.cpu = Milliseconds(std::max(static_cast<std::int64_t>(ran / 1'000'000),
                                     step.cpu.get().value_or(Milliseconds{0}).count() - 20));
  }
}

}  // namespace

ActivityRecorder::ActivityRecorder(const Snapshot& first, const Target& target)
    : ends_with_job_(target.ends_with_job) {
  activity_.taken = first.taken;
  activity_.simulated = first.simulated;
  activity_.subject = target.subject;
  for (const DeviceId& id : target.devices) {
    if (const Device* device = find_device(id, first))
      activity_.devices.push_back(facts_of(*device));
  }
}

DeviceStep ActivityRecorder::device_step(const Device& device, const Device* before,
                                         const Snapshot& snapshot, Milliseconds span,
                                         const std::set<pid_t>& job, bool sees_job) const {
  DeviceStep step =
      step_of(before != nullptr ? sample_of(*before) : DeviceSample{}, sample_of(device));
  step.lost = device.lost;
  put_utilization(device, span, step);
  step.power = power_of(device);
  step.throttle = device.throttle_reasons.get()
                      ? Reading<Throttle>(throttle_in(*device.throttle_reasons.get()))
                      : Reading<Throttle>(device.throttle_reasons.why());
  step.nvlink = nvlink_bytes(device, span);
  step.sm = device.details.get<Percent>(Detail::activity_sm);
  step.tensor = device.details.get<Percent>(Detail::activity_tensor);
  step.dram = device.details.get<Percent>(Detail::activity_dram);
  std::uint64_t others = 0;
  std::uint64_t own = 0;
  double busy = 0;
  bool knows_busy = true;
  for (const GpuProcess* process : processes_on(device.id, snapshot)) {
    if (job.contains(process->pid)) ++own;
    if (job.contains(process->pid) || is_background(*process)) continue;
    ++others;
    knows_busy = knows_busy && process->utilization_sm.get().has_value();
    busy += process->utilization_sm.get().value_or(Percent{0}).count();
  }
  // Not sampled: a simulated server's list is what it is, whether it counts it or not.
  const bool list_failed = !device.process_count.get() && others == 0 &&
                           device.process_count.why() != Absent::not_sampled;
  step.others = list_failed ? Reading<std::uint64_t>(device.process_count.why())
                            : Reading<std::uint64_t>(others);
  // If a lease's processes cannot be read, those on the device may be the job's own.
  if (own == 0 && others > 0 && !sees_job) step.others = Absent::no_permission;
  if (knows_busy && step.others.get()) step.others_utilization = Percent(std::min(busy, 100.0));
  return step;
}

void ActivityRecorder::put_devices(const Snapshot& snapshot, ProcessStep& step) const {
  Bytes memory{0};
  double sm = 0;
  bool knows_sm = true;
  bool knows_memory = true;
  for (const GpuProcess& process : snapshot.gpu_processes) {
    if (process.pid != step.pid) continue;
    const auto at = std::ranges::find(activity_.devices, process.device, &DeviceFacts::id);
    if (at == activity_.devices.end()) continue;
    step.devices.push_back(static_cast<std::size_t>(at - activity_.devices.begin()));
    knows_memory = knows_memory && process.memory.get();
    memory += process.memory.get().value_or(Bytes{0});
    knows_sm = knows_sm && process.utilization_sm.get();
    sm += process.utilization_sm.get().value_or(Percent{0}).count();
  }
  if (!step.devices.empty() && knows_memory) step.gpu_memory = memory;
  if (!step.devices.empty() && knows_sm) step.sm = Percent(sm);
}

ProcessStep ActivityRecorder::unread_step(pid_t pid, const Snapshot& snapshot) const {
  ProcessStep step{.pid = pid};
  put_devices(snapshot, step);
  const HostProcess* known = find_process(pid, snapshot);
  step.name = known != nullptr ? known->executable_name.get().value_or("?") : "?";
  return step;
}

ProcessStep ActivityRecorder::process_step(const ProcessCounters& now,
                                           const ProcessCounters* before,
                                           const Snapshot& snapshot) const {
  ProcessStep step{.pid = now.id.pid, .parent = now.parent, .name = now.name, .state = now.state};
  put_devices(snapshot, step);
  const ProcessCounters nothing{.storage_read = Bytes{0},
                                .read = Bytes{0},
                                .written = Bytes{0},
                                .voluntary_switches = std::uint64_t{0},
                                .involuntary_switches = std::uint64_t{0},
                                .major_faults = std::uint64_t{0}};
  // A process that was not there before has done all its work in this step.
  const ProcessCounters& old = before != nullptr ? *before : nothing;
  step.cpu = growth(Reading<Milliseconds>(old.cpu), Reading<Milliseconds>(now.cpu));
  put_threads(now, before, step);
  step.storage_read = growth(old.storage_read, now.storage_read);
  step.read = growth(old.read, now.read);
  step.written = growth(old.written, now.written);
  step.voluntary_switches = growth(old.voluntary_switches, now.voluntary_switches);
  step.involuntary_switches = growth(old.involuntary_switches, now.involuntary_switches);
  step.major_faults = growth(old.major_faults, now.major_faults);
  step.swapped = now.swapped;
  return step;
}

HostStep ActivityRecorder::host_step(const HostCounters& now, Milliseconds span) const {
  const HostCounters& old = last_->host;
  HostStep step;
  step.swap_in = growth(old.swap_in, now.swap_in);
  const auto pressure = growth(old.io_pressure, now.io_pressure);
  if (pressure.get()) {
    const double share =
        static_cast<double>(pressure.get()->count()) / 1000 / static_cast<double>(span.count());
    step.io_pressure = Percent(std::min(100.0, share * 100));
  } else {
    step.io_pressure = pressure.why();
  }
  const auto all = growth(old.cpu_all_ticks, now.cpu_all_ticks);
  const auto idle = growth(old.cpu_idle_ticks, now.cpu_idle_ticks);
  const auto waits = growth(old.cpu_iowait_ticks, now.cpu_iowait_ticks);
  if (all.get() && idle.get() && waits.get() && *all.get() > 0) {
    const auto whole = static_cast<double>(*all.get());
    const auto rest = static_cast<double>(*idle.get() + *waits.get());
    step.cpu_busy = Percent(100 * std::max(0.0, whole - rest) / whole);
    step.iowait = Percent(100 * static_cast<double>(*waits.get()) / whole);
  }
  return step;
}

void ActivityRecorder::add(Instant at, const Snapshot& snapshot, const JobCounters& job) {
  has_ended_ = has_ended_ || (ends_with_job_ && was_there_ && job.processes.empty());
  if (has_ended_) return;
  was_there_ = was_there_ || !job.processes.empty();
  Last now{.at = at, .host = job.host};
  for (const DeviceFacts& facts : activity_.devices) {
    const Device* device = find_device(facts.id, snapshot);
    now.devices.push_back(device != nullptr ? *device : Device{.id = facts.id});
  }
  for (const ProcessCounters& process : job.processes) now.processes[process.id.pid] = process;
  if (!last_) {
    began_ = at;
    last_ = std::move(now);
    return;
  }
  const Milliseconds span(std::max<std::int64_t>(1, steady_ms(at) - steady_ms(last_->at)));
  ActivitySample step{.end = Milliseconds(steady_ms(at) - steady_ms(began_)), .span = span};
  std::set<pid_t> pids(job.roots.begin(), job.roots.end());
  for (const auto& [pid, process] : now.processes) pids.insert(pid);
  for (const Device& device : now.devices) {
    step.devices.push_back(device_step(device, device_in(last_->devices, device.id), snapshot, span,
                                       pids, !now.processes.empty()));
  }
  for (const auto& [pid, process] : now.processes) {
    const auto before = last_->processes.find(pid);
    const bool is_same = before != last_->processes.end() && before->second.id == process.id;
    step.processes.push_back(process_step(process, is_same ? &before->second : nullptr, snapshot));
  }
  // The process has ended and the driver still lists it, or it is outside of this container.
  // Somebody is there, and nothing is known of what they do.
  for (const pid_t root : job.roots) {
    if (now.processes.contains(root)) continue;
    ProcessStep unread = unread_step(root, snapshot);
    if (!unread.devices.empty()) step.processes.push_back(std::move(unread));
  }
  step.host = host_step(job.host, span);
  activity_.steps.push_back(std::move(step));
  last_ = std::move(now);
}

}  // namespace berth::bottleneck
