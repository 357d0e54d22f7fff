#include "diagnose/bottleneck/features.h"

#include <algorithm>
#include <map>
#include <set>

#include "diagnose/pcie.h"

namespace berth::bottleneck {

namespace {

double seconds_of(const ActivitySample& step) {
  return static_cast<double>(step.span.count()) / 1000;
}

/// A mean of what was read, each value weighted.
class Mean {
 public:
  void add(std::optional<double> value, double weight) {
    if (!value) return;
    known_ = true;
    sum_ += *value * weight;
    weight_ += weight;
  }
  [[nodiscard]] std::optional<double> mean() const {
    if (!known_ || weight_ <= 0) return std::nullopt;
    return sum_ / weight_;
  }

 private:
  bool known_ = false;
  double sum_ = 0;
  double weight_ = 0;
};

/// A count per second, over all the time in which it was counted.
class Rate {
 public:
  void add(std::optional<double> count, double seconds) {
    if (!count) return;
    sum_ += *count;
    seconds_ += seconds;
  }
  [[nodiscard]] std::optional<double> per_second() const {
    if (seconds_ <= 0) return std::nullopt;
    return sum_ / seconds_;
  }

 private:
  double sum_ = 0;
  double seconds_ = 0;
};

std::optional<double> busy_of(const DeviceStep& device) {
  const auto percent = as_number(device.utilization);
  if (!percent) return std::nullopt;
  return std::clamp(*percent / 100, 0.0, 1.0);
}

std::optional<double> mean_busy(const ActivitySample& step) {
  Mean mean;
  for (const DeviceStep& device : step.devices) mean.add(busy_of(device), 1);
  return mean.mean();
}

std::vector<LoadPoint> points_of(const Activity& activity) {
  std::vector<LoadPoint> points;
  for (const ActivitySample& step : activity.steps) {
    const auto busy = mean_busy(step);
    if (!busy) continue;
    points.push_back({Milliseconds(step.end.count() - step.span.count()), step.end, *busy});
  }
  return points;
}

/// The steps that rules about steady work look at.
std::vector<const ActivitySample*> counted_steps(const Activity& activity, const Phases& phases) {
  // If a job is watched for a moment, the beginning is no start-up: the job has long been running.
  constexpr std::int64_t long_enough = 60'000;
  const bool has_ends = activity.taken_by == TakenBy::run_samples && phases.working &&
                        phases.working->length().count() >= long_enough;
  std::vector<const ActivitySample*> steps;
  for (const ActivitySample& step : activity.steps) {
    const Milliseconds from(step.end.count() - step.span.count());
    const bool in_pause = phases.repeating && is_within_one(from, step.end, phases.pauses);
    const bool outside =
        has_ends && (step.end <= phases.working->from || from >= phases.working->to);
    if (!in_pause && !outside) steps.push_back(&step);
  }
  return steps;
}

std::optional<double> share_of(std::optional<double> part, std::optional<double> whole) {
  if (!part || !whole || *whole <= 0) return std::nullopt;
  return *part / *whole;
}

/// Utilisation by others: as it was read, else what the job's own processes leave unexplained.
std::optional<double> others_in(const ActivitySample& step, std::size_t at) {
  const DeviceStep& device = step.devices[at];
  if (device.others.get() && *device.others.get() == 0) return 0.0;
  if (const auto percent = as_number(device.others_utilization)) return *percent / 100;
  if (!device.others.get() || !device.utilization.get()) return std::nullopt;
  double own = 0;
  for (const ProcessStep& process : step.processes) {
    if (std::ranges::find(process.devices, at) == process.devices.end()) continue;
    if (!process.sm.get()) return std::nullopt;
    own += process.sm.get()->count();
  }
  return std::max(0.0, device.utilization.get()->count() - own) / 100;
}

struct Capped {
  double seconds = 0;
  Mean clock;
};

class DeviceSum {
 public:
  DeviceSum(const DeviceFacts& facts, const Thresholds& t) : facts_(facts), t_(t) {}

  void add(const ActivitySample& step, std::size_t at) {
    const DeviceStep& device = step.devices[at];
    const double seconds = seconds_of(step);
    const auto busy = busy_of(device);
    all_ += seconds;
    load_.lost = load_.lost || device.lost;
    load_.knows_others = load_.knows_others && device.others.get().has_value();
    load_.most_others = std::max(load_.most_others, device.others.get().value_or(0));
    busy_.add(busy, seconds);
    others_.add(others_in(step, at), seconds);
    sent_.add(as_number(device.pcie_sent), seconds);
    received_.add(as_number(device.pcie_received), seconds);
    nvlink_.add(as_number(device.nvlink), seconds);
    if (!busy || *busy <= 0) return;
    // Counters over the whole step, spread over the part of it in which kernels ran.
    activity_.add(as_number(device.sm), seconds, *busy, sm_);
    activity_.add(as_number(device.tensor), seconds, *busy, tensor_);
    activity_.add(as_number(device.dram), seconds, *busy, dram_);
    activity_.add(as_number(device.utilization_memory), seconds, *busy, memory_);
    power_.add(share_of(as_number(device.power), as_number(facts_.power_limit)), seconds * *busy);
    const auto clock = share_of(as_number(device.clock_sm), as_number(facts_.clock_sm_max));
    clock_.add(clock, seconds * *busy);
    add_caps(device, clock, seconds * *busy);
    add_spinning(device, *busy, seconds);
  }

  [[nodiscard]] DeviceLoad load() {
    load_.busy = busy_.mean();
    load_.sm = sm_.value();
    load_.tensor = tensor_.value();
    load_.dram = dram_.value();
    load_.memory_busy = memory_.value();
    load_.power = power_.mean();
    load_.clock = clock_.mean();
    load_.others = others_.mean();
    if (all_ > 0) {
      load_.power_cap = {.share = power_cap_.seconds / all_, .clock = power_cap_.clock.mean()};
      load_.heat_cap = {.share = heat_cap_.seconds / all_, .clock = heat_cap_.clock.mean()};
      if (knows_spinning_) load_.spinning = spinning_ / all_;
    }
    load_.nvlink_rate = nvlink_.per_second();
    const auto sent = sent_.per_second();
    const auto received = received_.per_second();
    if (sent || received) {
      load_.receives = received.value_or(0) >= sent.value_or(0);
      load_.pcie_rate = std::max(sent.value_or(0), received.value_or(0));
      load_.pcie = share_of(load_.pcie_rate, pcie_capacity(facts_));
    }
    return load_;
  }

 private:
  /// A percentage of the step's whole time, as what it was while kernels ran.
  struct WhileRunning {
    double sum = 0;
    double running = 0;
    [[nodiscard]] std::optional<double> value() const {
      if (running <= 0) return std::nullopt;
      return std::min(1.0, sum / running);
    }
  };
  struct Adder {
    void add(std::optional<double> percent, double seconds, double busy, WhileRunning& to) const {
      if (!percent) return;
      to.sum += *percent / 100 * seconds;
      to.running += seconds * busy;
    }
  };

  void add_caps(const DeviceStep& device, std::optional<double> clock, double running) {
    if (!device.throttle.get() || !clock || *clock > 1 - t_.lost_clock_share) return;
    for (const auto& [is, cap] : {std::pair{device.throttle.get()->power, &power_cap_},
                                  std::pair{device.throttle.get()->heat, &heat_cap_}}) {
      if (!is) continue;
      cap->seconds += running;
      cap->clock.add(clock, running);
    }
  }

  void add_spinning(const DeviceStep& device, double busy, double seconds) {
    const auto power = share_of(as_number(device.power), as_number(facts_.power_limit));
    const auto sm = as_number(device.sm);
    if (!sm && !power) return;
    knows_spinning_ = true;
    if (busy < 1 - t_.busy_idle_share) return;
    const bool draws = power && *power >= t_.spinning_power_share;
    const auto memory = as_number(device.utilization_memory);
    const bool untouched = memory && *memory < t_.spinning_memory_percent;
    // Without counters of the SMs a spinning card is told otherwise. It leaves its memory alone, or
    // needs hardly more power than an idle one.
    const bool still = sm ? *sm < t_.spinning_sm_percent && !draws
                          : (untouched && !draws) || *power < t_.low_power_share * 0.75;
    if (still) spinning_ += seconds;
  }

  const DeviceFacts& facts_;
  const Thresholds& t_;
  DeviceLoad load_;
  Adder activity_;
  Mean busy_, others_, power_, clock_;
  WhileRunning sm_, tensor_, dram_, memory_;
  Rate sent_, received_, nvlink_;
  Capped power_cap_, heat_cap_;
  bool knows_spinning_ = false;
  double spinning_ = 0;
  double all_ = 0;
};

/// One process's sums over the steps.
struct ProcessSum {
  ProcessLoad load;
  pid_t parent = 0;
  bool holds = false;
  bool knows_cpu = false;
  bool knows_delay = false;
  double present = 0;  // seconds
  double cpu = 0;
  double delay = 0;
  std::map<pid_t, double> threads;
  double looks = 0;
  double disk_looks = 0;
  double storage = 0;
};

void add_process(const ProcessStep& process, double seconds, ProcessSum& sum) {
  sum.load.pid = process.pid;
  sum.load.name = process.name;
  sum.parent = process.parent;
  sum.holds = sum.holds || !process.devices.empty();
  sum.present += seconds;
  if (process.cpu.get()) {
    sum.knows_cpu = true;
    sum.cpu += static_cast<double>(process.cpu.get()->count()) / 1000;
  }
  if (process.run_delay.get()) {
    sum.knows_delay = true;
    sum.delay += static_cast<double>(process.run_delay.get()->count()) / 1000;
  }
  bool waits = process.state.get() == 'D';
  if (process.threads.get()) {
    for (const ThreadStep& thread : *process.threads.get()) {
      sum.threads[thread.tid] += static_cast<double>(thread.cpu.count()) / 1000;
      waits = waits || thread.state == 'D';
    }
  }
  if (process.state.get() || process.threads.get()) {
    sum.looks += 1;
    sum.disk_looks += waits ? 1 : 0;
  }
  sum.storage += as_number(process.storage_read).value_or(0);
}

ProcessLoad finished(const ProcessSum& sum, const Thresholds& t) {
  ProcessLoad load = sum.load;
  if (sum.present <= 0) return load;
  load.cpu = sum.cpu / sum.present;
  load.wanted = (sum.cpu + sum.delay) / sum.present;
  // Which thread it was that waited for a CPU is not told: each by what it used.
  const double stretch = sum.cpu > 0 ? (sum.cpu + sum.delay) / sum.cpu : 1;
  for (const auto& [tid, cpu] : sum.threads) {
    const double wanted = std::min(1.0, cpu * stretch / sum.present);
    if (tid == sum.load.pid) load.main_thread = wanted;
    load.best_thread = std::max(load.best_thread, wanted);
    if (tid != sum.load.pid && cpu / sum.present >= t.working_share) ++load.working_threads;
  }
  if (sum.threads.empty()) load.main_thread = load.best_thread = std::min(1.0, load.wanted);
  if (sum.looks > 0) load.disk_wait = sum.disk_looks / sum.looks;
  return load;
}

/// Parents of the holders, up to the job's first process: shells and launchers, which load nothing.
std::set<pid_t> ancestors_of_holders(const std::map<pid_t, ProcessSum>& sums) {
  std::set<pid_t> ancestors;
  for (const auto& [pid, sum] : sums) {
    if (!sum.holds) continue;
    for (auto at = sums.find(sum.parent); at != sums.end(); at = sums.find(at->second.parent)) {
      if (!ancestors.insert(at->first).second) break;
    }
  }
  return ancestors;
}

void sort_processes(const std::map<pid_t, ProcessSum>& sums, const Thresholds& t,
                    Features& features) {
  const std::set<pid_t> launchers = ancestors_of_holders(sums);
  double delay = 0;
  bool knows_delay = false;
  for (const auto& [pid, sum] : sums) {
    const ProcessLoad load = finished(sum, t);
    features.cpu += sum.cpu / features.seconds_counted;
    features.wanted += (sum.cpu + sum.delay) / features.seconds_counted;
    features.saw_processes = features.saw_processes || sum.knows_cpu;
    features.saw_threads = features.saw_threads || !sum.threads.empty();
    delay += sum.delay / features.seconds_counted;
    knows_delay = knows_delay || sum.knows_delay;
    if (sum.holds) {
      features.holders.processes.push_back(load);
      continue;
    }
    if (launchers.contains(pid)) continue;
    ++features.workers_all;
    constexpr double noticeable_disk_wait = 0.1;
    const bool works = load.wanted >= t.working_share || load.disk_wait >= noticeable_disk_wait ||
                       sum.storage > t.storage_rate * sum.present / 10;
    if (!works) continue;
    features.workers.processes.push_back(load);
    if (load.wanted >= 1 - t.saturated_idle_share) ++features.saturated_workers;
  }
  if (knows_delay && features.wanted > 0) features.run_delay = delay / features.wanted;
  const auto by_cpu = [](const ProcessLoad& a, const ProcessLoad& b) { return a.cpu > b.cpu; };
  std::ranges::stable_sort(features.holders.processes, by_cpu);
  std::ranges::stable_sort(features.workers.processes, by_cpu);
}

/// Sum of one reading over a step's processes; nothing where it was read of none.
template <class T>
std::optional<double> sum_over(const ActivitySample& step, Reading<T> ProcessStep::* reading) {
  std::optional<double> sum;
  for (const ProcessStep& process : step.processes) {
    if (const auto value = as_number(process.*reading)) sum = sum.value_or(0) + *value;
  }
  return sum;
}

void gather_host(const std::vector<const ActivitySample*>& steps, Features& features) {
  Rate storage, read, faults, swap, preempted;
  Mean pressure, busy, swapped, memory;
  for (const ActivitySample* step : steps) {
    const double seconds = seconds_of(*step);
    storage.add(sum_over(*step, &ProcessStep::storage_read), seconds);
    read.add(sum_over(*step, &ProcessStep::read), seconds);
    faults.add(sum_over(*step, &ProcessStep::major_faults), seconds);
    preempted.add(sum_over(*step, &ProcessStep::involuntary_switches), seconds);
    swapped.add(sum_over(*step, &ProcessStep::swapped), seconds);
    memory.add(sum_over(*step, &ProcessStep::gpu_memory), seconds);
    swap.add(as_number(step->host.swap_in), seconds);
    busy.add(as_number(step->host.cpu_busy), seconds);
    const auto waits = as_number(step->host.io_pressure);
    pressure.add(waits ? waits : as_number(step->host.iowait), seconds);
  }
  features.storage_rate = storage.per_second();
  features.read_rate = read.per_second();
  features.saw_io = features.read_rate.has_value() || features.storage_rate.has_value();
  features.major_faults = faults.per_second();
  features.preemptions = preempted.per_second();
  features.swapped_bytes = swapped.mean();
  features.swap_rate = swap.per_second();
  features.gpu_memory = memory.mean();
  if (pressure.mean()) features.io_pressure = *pressure.mean() / 100;
  if (busy.mean() && features.cpus_host) {
    features.cpus_busy_by_others =
        std::max(0.0, *busy.mean() / 100 * *features.cpus_host - features.cpu);
  }
}

void gather_devices(const Activity& activity, const std::vector<const ActivitySample*>& steps,
                    const Thresholds& t, Features& features) {
  Mean busy;
  for (std::size_t at = 0; at < activity.devices.size(); ++at) {
    DeviceSum sum(activity.devices[at], t);
    for (const ActivitySample* step : steps) sum.add(*step, at);
    features.devices.push_back(sum.load());
    busy.add(features.devices.back().busy, 1);
  }
  features.busy = busy.mean();
}

}  // namespace

double Group::cpu() const {
  double sum = 0;
  for (const ProcessLoad& process : processes) sum += process.cpu;
  return sum;
}

double Group::wanted() const {
  double sum = 0;
  for (const ProcessLoad& process : processes) sum += process.wanted;
  return sum;
}

std::optional<double> pcie_capacity(const DeviceFacts& facts) {
  if (!facts.pcie_generation.get() || !facts.pcie_width.get()) return std::nullopt;
  return pcie_bytes_per_second(*facts.pcie_generation.get(), *facts.pcie_width.get());
}

namespace {

/// What the steps that count come to.
void gather(const Activity& activity, const std::vector<const ActivitySample*>& steps,
            const Thresholds& t, Features& features) {
  for (const ActivitySample* step : steps) features.seconds_counted += seconds_of(*step);
  if (steps.empty()) return;
  gather_devices(activity, steps, t, features);
  features.cpus_host = as_number(activity.cpus);
  features.cpus = activity.cpus_allowed.get() ? activity.cpus_allowed.get() : features.cpus_host;
  std::map<pid_t, ProcessSum> sums;
  for (const ActivitySample* step : steps) {
    for (const ProcessStep& process : step->processes) {
      add_process(process, seconds_of(*step), sums[process.pid]);
    }
  }
  sort_processes(sums, t, features);
  gather_host(steps, features);
  features.ranks =
      activity.ranks.get().value_or(std::max<std::uint64_t>(1, features.holders.processes.size()));
}

}  // namespace

Features features_of(const Activity& activity, const Thresholds& t) {
  Features features;
  const std::vector<LoadPoint> points = points_of(activity);
  features.phases =
      phases_of(points, {.shortest_pause = Milliseconds(static_cast<std::int64_t>(t.pause_ms)),
                         .period_scatter = t.period_scatter,
                         .idle_between = t.idle_share});
  features.seconds = static_cast<double>(span_of(activity).count()) / 1000;
  Mean whole;
  for (const LoadPoint& point : points) {
    whole.add(point.busy, static_cast<double>(point.to.count() - point.from.count()));
  }
  features.busy_whole = whole.mean();
  const Features empty = features;
  gather(activity, counted_steps(activity, features.phases), t, features);
  if (!features.phases.repeating || !loaders_never_rest(features)) return features;
  // They are why the GPU pauses: the pauses are part of what is to be explained.
  features = empty;
  Phases without = features.phases;
  without.repeating.reset();
  gather(activity, counted_steps(activity, without), t, features);
  return features;
}

bool loaders_never_rest(const Features& features) {
  return features.saturated_workers > 0 &&
         features.saturated_workers * 2 >= static_cast<int>(features.workers.processes.size());
}

}  // namespace berth::bottleneck
