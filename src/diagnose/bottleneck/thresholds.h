#pragma once
// Thresholds: every number that the rules of `berth explain` for what runs now decide by. Rules
// take it as an argument, so that it can be moved. tools/score_explain.py moves each number by 30 %
// up and down, and asks all rules again. Each number is a quantity that stays meaningful when
// multiplied. So "busy all the time", which is nearly whole, is said by what is left ("idle for at
// most").

#include <array>
#include <string_view>

namespace berth::bottleneck {

struct Thresholds {
  // --- what counts as a loss.
  /// A rule speaks of gaps if no kernel ran for at least this share of the time.
  double idle_share = 0.20;
  /// A rule about a busy GPU (throttled, waiting, memory) must hold for this share of the time.
  double slow_share = 0.30;
  /// Share of the highest SM clock from which a card at its own power limit is well.
  double full_power_clock = 0.65;
  /// Utilisation of a step up to which nothing is said to run in it, percent.
  double still_percent = 5;
  /// Share of a step without kernels up to which the step counts as busy throughout.
  double busy_idle_share = 0.15;
  /// Share of the time without kernels up to which they "run most of the time".
  double running_idle_share = 0.40;

  // --- processors, in shares of one CPU unless said otherwise.
  /// A thread that "is busy all the time" is idle for at most this. Time waited for a CPU does not
  /// count as idle.
  double saturated_idle_share = 0.20;
  /// A process that uses at least this much of a CPU works; below it only ticks.
  double working_share = 0.10;
  /// What a process that is idle uses at most.
  double asleep_share = 0.05;
  /// Several threads of the process itself that compute together: CPUs' worth of work at least.
  double computing_cpus = 1.6;
  /// Share of the CPUs that must be left over where more workers would help.
  double free_cpus_share = 0.35;
  /// Time spent waiting for a CPU, as a share of the time in which threads wanted one.
  double waiting_for_cpu_share = 0.35;
  /// CPUs' worth of threads that want to run, per CPU that they may use.
  double crowded_factor = 1.2;

  // --- storage and memory of the host.
  /// Share of looks at the loading processes that found them in the state D.
  double disk_wait_share = 0.30;
  /// Share of the time in which tasks of the machine stood still for storage (PSI, iowait).
  double io_pressure_share = 0.35;
  /// Bytes per second from storage (not from the page cache) that make storage worth a word.
  double storage_rate = 2e6;
  /// Bytes per second swapped in.
  double swap_rate = 1e6;
  /// Major faults per second beside memory that is swapped out.
  double major_faults_rate = 50;

  // --- what the device does while it is busy.
  /// Mean traffic as a share of what the PCIe link carries in one direction.
  double pcie_share = 0.12;
  /// The same in bytes per second. Pageable memory goes no faster, however wide the link.
  double pcie_rate = 3e9;
  /// SM activity of a busy device below which its kernels are small, percent.
  double small_sm_percent = 30;
  /// SM activity of a busy device below which it only waits in a collective, percent. NCCL's
  /// kernels stand on up to 32 multiprocessors, of 132 on an H100, 108 on an A100.
  double spinning_sm_percent = 25;
  /// Memory utilisation below which it only waits there, where the SMs are not told, percent.
  double spinning_memory_percent = 6;
  /// Power, as a share of its limit, up to which both can be believed. It is a mean of a second.
  double spinning_power_share = 0.60;
  /// Mean SM activity of ranks whose kernels run all the time, percent. Below it they wait for each
  /// other within each step of a look.
  double ranks_sm_percent = 55;
  /// Power of a busy device, as a share of its limit, below which it cannot be working much.
  double low_power_share = 0.45;
  /// DRAM activity from which memory is the limit, percent.
  double dram_percent = 60;
  /// Tensor activity below which arithmetic is not the limit, percent.
  double tensor_percent = 25;
  /// Memory utilisation that stands for DRAM activity where that cannot be read, percent.
  double memory_utilization_percent = 75;
  /// The loss of clock, as a share of the highest, from which throttling costs something.
  double lost_clock_share = 0.20;
  /// Utilisation by other users' or other jobs' processes, percent.
  double others_percent = 20;

  // --- phases.
  /// A stretch of stillness counts as a pause from this length on, milliseconds.
  double pause_ms = 1000;
  /// Pauses that repeat: how far their distances may differ from their middle one, as a share.
  double period_scatter = 0.35;
  /// Share of the time that repeating pauses must take.
  double pauses_share = 0.10;
};

/// The same thresholds by name, for moving them one at a time.
struct ThresholdName {
  std::string_view name;
  double Thresholds::* value;
};
#define BERTH_THRESHOLD(name) \
  ThresholdName { #name, &Thresholds::name }
inline constexpr auto threshold_names = std::to_array<ThresholdName>({
    BERTH_THRESHOLD(idle_share),
    BERTH_THRESHOLD(slow_share),
    BERTH_THRESHOLD(full_power_clock),
    BERTH_THRESHOLD(still_percent),
    BERTH_THRESHOLD(busy_idle_share),
    BERTH_THRESHOLD(running_idle_share),
    BERTH_THRESHOLD(saturated_idle_share),
    BERTH_THRESHOLD(working_share),
    BERTH_THRESHOLD(asleep_share),
    BERTH_THRESHOLD(computing_cpus),
    BERTH_THRESHOLD(free_cpus_share),
    BERTH_THRESHOLD(waiting_for_cpu_share),
    BERTH_THRESHOLD(crowded_factor),
    BERTH_THRESHOLD(disk_wait_share),
    BERTH_THRESHOLD(io_pressure_share),
    BERTH_THRESHOLD(storage_rate),
    BERTH_THRESHOLD(swap_rate),
    BERTH_THRESHOLD(major_faults_rate),
    BERTH_THRESHOLD(pcie_share),
    BERTH_THRESHOLD(pcie_rate),
    BERTH_THRESHOLD(small_sm_percent),
    BERTH_THRESHOLD(spinning_sm_percent),
    BERTH_THRESHOLD(spinning_memory_percent),
    BERTH_THRESHOLD(spinning_power_share),
    BERTH_THRESHOLD(ranks_sm_percent),
    BERTH_THRESHOLD(low_power_share),
    BERTH_THRESHOLD(dram_percent),
    BERTH_THRESHOLD(tensor_percent),
    BERTH_THRESHOLD(memory_utilization_percent),
    BERTH_THRESHOLD(lost_clock_share),
    BERTH_THRESHOLD(others_percent),
    BERTH_THRESHOLD(pause_ms),
    BERTH_THRESHOLD(period_scatter),
    BERTH_THRESHOLD(pauses_share),
});
#undef BERTH_THRESHOLD

}  // namespace berth::bottleneck
