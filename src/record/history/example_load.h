#pragma once
// ExampleLoad: a server of eight GPUs and 64 processes as it looks second by second. For tests and
// benchmarks only.
//
// The readings are those of an H100 80GB, an L40S and an RTX 2080 SUPER. Source: nvidia-smi dmon
// and pmon, five seconds idle and five under load. Each second takes a reading that was really seen
// in the same phase. So their noise is real, and their order is not. What no tool showed is as
// noisy as it can be. All digits of power below a watt and of energy below a joule are random. PCIe
// counters grow by a random number of bytes up to 12 GB a second. Looks come up to 4 ms late.
// Phases last one to ten minutes; a process takes memory in steps of 2 MiB and keeps most of it.

#include <array>
#include <cstdint>
#include <random>
#include <string>

#include "snapshot/snapshot.h"

namespace berth::history {

/// One second of a card, as dmon shows it: watts, degrees, percent, megahertz; and of its busiest
/// process, as pmon does (-1: a dash).
struct SeenSecond {
  int power;
  int temperature;
  int utilization;
  int clock;
  int process_sm;
};
using SeenPhase = std::array<SeenSecond, 5>;

inline constexpr std::array<std::array<SeenPhase, 2>, 3> seen_machines = {{
    {{{{{69, 41, 0, 345, -1},
        {69, 41, 0, 345, -1},
        {69, 41, 0, 345, -1},
        {69, 41, 0, 345, -1},
        {69, 41, 0, 345, -1}}},
      {{{631, 63, 100, 1980, 99},
        {634, 63, 100, 1980, 99},
        {633, 64, 100, 1980, 99},
        {634, 64, 100, 1980, 99},
        {636, 65, 100, 1980, 99}}}}},
    {{{{{66, 57, 0, 210, -1},
        {65, 57, 0, 210, -1},
        {65, 56, 0, 210, -1},
        {51, 55, 0, 210, -1},
        {37, 54, 0, 210, -1}}},
      {{{109, 53, 10, 2520, 6},
        {108, 53, 9, 2520, 5},
        {108, 53, 9, 2520, 8},
        {108, 52, 9, 2520, 7},
        {108, 52, 10, 2520, 5}}}}},
    {{{{{36, 40, 0, 300, -1},
        {36, 40, 0, 300, -1},
        {36, 40, 0, 300, -1},
        {36, 40, 0, 300, -1},
        {36, 40, 0, 300, -1}}},
      {{{98, 45, 8, 2055, 7},
        {98, 45, 8, 2055, 8},
        {98, 45, 8, 2055, -1},
        {98, 45, 8, 2055, -1},
        {98, 45, 8, 2055, -1}}}}},
}};

class ExampleLoad {
 public:
  static constexpr std::size_t gpus = 8;
  static constexpr std::size_t processes = 64;
  static constexpr std::size_t readings_per_look = gpus * 8 + processes * 2;

  explicit ExampleLoad(std::uint64_t seed = 1) : random_(seed) {
    for (std::size_t i = 0; i < gpus; ++i) add_gpu(i);
    for (std::size_t i = 0; i < processes; ++i) add_process(i);
  }

  /// The look of that second after the first.
  const Snapshot& look(WallTime first, std::int64_t second) {
    snapshot_.taken = {first.unix_ms + second * 1000 + static_cast<std::int64_t>(below(5))};
    for (std::size_t i = 0; i < gpus; ++i) move_gpu(i);
    for (std::size_t i = 0; i < processes; ++i) move_process(i);
    return snapshot_;
  }

 private:
  struct Card {
    bool is_loaded = false;
    std::uint64_t seconds_left = 0;
    std::size_t at = 0;
  };

  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  void add_gpu(std::size_t i) {
    Device device;
    device.id = DeviceId("GPU-7d4a3f0" + std::to_string(i) + "-d702-6a10-c12f-20bd9faed9f6");
    device.kind = DeviceKind::nvidia_gpu;
    device.index = static_cast<int>(i);
    device.name = std::string("NVIDIA H100 80GB HBM3");
    device.memory_total = Bytes(std::uint64_t{80} << 30);
    device.energy = Millijoules(below(1'000'000'000'000));
    device.pcie_sent = Bytes(below(1'000'000'000'000'000));
    device.pcie_received = Bytes(below(1'000'000'000'000'000));
    device.process_count = processes / gpus;
    snapshot_.devices.push_back(std::move(device));
  }

  void add_process(std::size_t i) {
    GpuProcess use;
    use.device = snapshot_.devices[i % gpus].id;
    use.pid = static_cast<pid_t>(10'000 + i);
    use.memory = Bytes((below(2000) + 200) << 21);
    snapshot_.gpu_processes.push_back(std::move(use));
    HostProcess process;
    process.id = {.pid = static_cast<pid_t>(10'000 + i), .start_ticks = 1000 + i};
    process.user = "user" + std::to_string(i % 10);
    process.executable_name = std::string("python");
    snapshot_.processes.push_back(std::move(process));
  }

  const SeenSecond& now_of(std::size_t i) const {
    return seen_machines[i % seen_machines.size()][cards_[i].is_loaded ? 1 : 0][cards_[i].at];
  }

  void move_gpu(std::size_t i) {
    Card& card = cards_[i];
    if (card.seconds_left == 0) {
      card.is_loaded = !card.is_loaded;
      card.seconds_left = 60 + below(540);
    }
    --card.seconds_left;
    card.at = below(5);
    const SeenSecond& seen = now_of(i);
    Device& device = snapshot_.devices[i];
    device.utilization_gpu = Percent(seen.utilization);
    device.temperature = Celsius(seen.temperature);
    device.clock_sm = Megahertz(static_cast<std::uint64_t>(seen.clock));
    const std::uint64_t milliwatts = static_cast<std::uint64_t>(seen.power) * 1000 + below(1000);
    device.power_draw = Milliwatts(milliwatts);
    device.energy = *device.energy.get() + Millijoules(milliwatts / 1000 * 1000 + below(1000));
    const std::uint64_t most = card.is_loaded ? 12'000'000'000 : 100'000;
    device.pcie_sent = *device.pcie_sent.get() + Bytes(below(most));
    device.pcie_received = *device.pcie_received.get() + Bytes(below(most));
    device.memory_used = Bytes(std::uint64_t{600} << 20);
  }

  void move_process(std::size_t i) {
    GpuProcess& use = snapshot_.gpu_processes[i];
    Device& device = snapshot_.devices[i % gpus];
    if (cards_[i % gpus].is_loaded && below(30) == 0) {
      use.memory = Bytes((below(2000) + 200) << 21);
    }
    device.memory_used = *device.memory_used.get() + *use.memory.get();
    const SeenSecond& seen = now_of(i % gpus);
    use.utilization_sm = seen.process_sm < 0 ? Reading<Percent>(Absent::not_sampled)
                                             : Reading<Percent>(Percent(seen.process_sm));
  }

  std::mt19937_64 random_;
  std::array<Card, gpus> cards_{};
  Snapshot snapshot_;
};

}  // namespace berth::history
