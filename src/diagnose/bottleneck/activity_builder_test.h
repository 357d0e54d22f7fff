#pragma once
// ActivityBuilder: a series for a test in a few lines. It is a healthy training job of half-second
// steps, and what differs from that. One process computes on GPU 0, two workers mostly rest, and
// there are 16 CPUs.

#include <functional>
#include <string>

#include "diagnose/bottleneck/activity.h"

namespace berth::bottleneck {

using namespace berth::literals;

class ActivityBuilder {
 public:
  static constexpr pid_t main_pid = 100;

  explicit ActivityBuilder(int steps = 20) {
    activity_.subject = "GPU 0";
    activity_.framework = Framework::torch;
    activity_.cpus = std::uint64_t{16};
    activity_.cpus_allowed = 16.0;
    activity_.devices.push_back({.id = DeviceId("GPU-A"),
                                 .index = 0,
                                 .name = std::string("Test"),
                                 .memory_total = 80_GiB,
                                 .power_limit = 700_watts,
                                 .power_limit_default = 700_watts,
                                 .clock_sm_max = 2000_MHz,
                                 .pcie_generation = std::uint64_t{4},
                                 .pcie_width = std::uint64_t{16}});
    for (int i = 0; i < steps; ++i) activity_.steps.push_back(healthy_step(i));
  }

  ActivityBuilder& each(const std::function<void(ActivitySample&)>& change) {
    for (ActivitySample& step : activity_.steps) change(step);
    return *this;
  }
  ActivityBuilder& device(const std::function<void(DeviceStep&)>& change) {
    return each([&](ActivitySample& step) { change(step.devices[0]); });
  }
  ActivityBuilder& busy(double percent) {
    return device([&](DeviceStep& device) {
      // All that a device does shrinks with the time in which it does it.
      const double factor = percent / 96;
      device.utilization = Percent(percent);
      device.sm = Percent(80 * factor);
      device.tensor = Percent(45 * factor);
      device.dram = Percent(40 * factor);
      device.power = Milliwatts(static_cast<std::uint64_t>(80'000 + 450'000 * factor));
    });
  }
  /// CPU milliseconds per step of the main process's threads: its own, and further ones.
  ActivityBuilder& main(std::int64_t own, const std::vector<std::int64_t>& further = {}) {
    return each([&](ActivitySample& step) {
      ProcessStep& process = step.processes[0];
      std::vector<ThreadStep> threads = {{main_pid, 'R', Milliseconds(own)}};
      Milliseconds all(own);
      for (std::size_t i = 0; i < further.size(); ++i) {
        threads.push_back({main_pid + 1 + static_cast<pid_t>(i), 'R', Milliseconds(further[i])});
        all += threads.back().cpu;
      }
      process.threads = threads;
      process.cpu = all;
    });
  }
  /// So many workers instead, each with so much CPU, waiting and state per step.
  ActivityBuilder& workers(int count, std::int64_t cpu, std::int64_t delay = 0, char state = 'S') {
    return each([&](ActivitySample& step) {
      step.processes.resize(1);
      for (int i = 0; i < count; ++i) step.processes.push_back(worker(200 + i, cpu, delay, state));
    });
  }
  ActivityBuilder& cpus(double host, double allowed) {
    activity_.cpus = static_cast<std::uint64_t>(host);
    activity_.cpus_allowed = allowed;
    return *this;
  }
  ActivityBuilder& with(const std::function<void(Activity&)>& change) {
    change(activity_);
    return *this;
  }
  [[nodiscard]] Activity build() const { return activity_; }

 private:
  static ProcessStep worker(pid_t pid, std::int64_t cpu, std::int64_t delay, char state) {
    ProcessStep process{.pid = pid, .parent = main_pid, .name = "pt_data_worker", .state = state};
    process.cpu = Milliseconds(cpu);
    process.run_delay = Milliseconds(delay);
    process.storage_read = Bytes{0};
    process.read = Bytes{1'000'000};
    process.threads = std::vector<ThreadStep>{{pid, state, Milliseconds(cpu)}};
    process.swapped = Bytes{0};
    process.major_faults = std::uint64_t{0};
    return process;
  }
  static ActivitySample healthy_step(int i) {
    ActivitySample step{.end = Milliseconds((i + 1) * 500), .span = Milliseconds(500)};
    DeviceStep device{.utilization = Percent(96),
                      .memory_used = 30_GiB,
                      .power = 530_watts,
                      .temperature = Celsius(60),
                      .clock_sm = 1900_MHz,
                      .throttle = Throttle{}};
    device.pcie_sent = 1_MiB;
    device.pcie_received = 50_MiB;
    device.sm = Percent(80);
    device.tensor = Percent(45);
    device.dram = Percent(40);
    device.others = std::uint64_t{0};
    device.others_utilization = Percent(0);
    step.devices.push_back(device);
    ProcessStep main{.pid = main_pid, .parent = 50, .name = "python", .state = 'R', .devices = {0}};
    main.gpu_memory = 30_GiB;
    main.sm = Percent(96);
    main.cpu = Milliseconds(480);
    main.run_delay = Milliseconds(5);
    main.storage_read = Bytes{0};
    main.read = Bytes{1'000'000};
    main.written = Bytes{0};
    main.threads = std::vector<ThreadStep>{{main_pid, 'R', Milliseconds(480)}};
    main.swapped = Bytes{0};
    main.major_faults = std::uint64_t{0};
    step.processes.push_back(main);
    step.processes.push_back(worker(200, 150, 2, 'S'));
    step.processes.push_back(worker(201, 150, 2, 'S'));
    step.host = {.cpu_busy = Percent(8), .iowait = Percent(1), .io_pressure = Percent(1)};
    step.host.swap_in = Bytes{0};
    return step;
  }
  Activity activity_;
};

}  // namespace berth::bottleneck
