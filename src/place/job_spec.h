#pragma once
// JobSpec: a job as a user asks for it, whatever it is written in. job_keys() is the one table of
// its members. Flags, JSON, berth.toml and the page have the same key and the same parser there.

#include <chrono>
#include <csignal>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "base/result.h"
#include "place/request.h"
#include "snapshot/claim.h"

namespace berth {

/// Whether a job is to have devices at all.
enum class RunWhere { gpu, gpu_or_cpu, cpu };

/// What the job feels when the watchdog finds it above its share of memory.
enum class CapAction { warn, stop };
/// What the job itself feels when one of its devices goes wrong.
enum class OnGpuFault { warn, signal, stop };
/// After what a run that ended badly is started again without the device.
enum class RetryOn { never, gpu_lost, gpu_fault };
/// What starts the command once for each device, as the ranks of one distributed job.
enum class RanksBy { nobody, berth, torchrun };

struct JobSpec {
  std::vector<std::string> command;
  /// What its owner calls it, and what its hours are to count for; empty: nothing.
  std::string name;
  std::string project;
  Request request;
  Priority priority = Priority::normal;
  std::vector<std::string> after;  // runs that have to end well first
  /// What a cluster's scheduler would be told. Carried and recorded: berth itself holds no job to
  /// it.
  std::optional<int> cpus;
  std::optional<Bytes> host_memory;
  RunWhere where = RunWhere::gpu;
  RanksBy ranks_by = RanksBy::nobody;
  int nodes = 1;  // machines that its ranks are on, each with as many devices
  /// 0: answer at once. Nothing: wait as long as it takes.
  std::optional<std::chrono::milliseconds> wait = std::chrono::milliseconds(0);
  /// With gpu_or_cpu: how long to wait for a GPU before going without.
  std::chrono::milliseconds cpu_after{0};

  std::optional<std::chrono::milliseconds> time_limit;
  int warning_signal = SIGTERM;  // sent to the main process `warning_ahead` before the limit
  std::chrono::milliseconds warning_ahead{60'000};
  /// The lease lasts until no survivor of the job has had a GPU device file open for this long.
  std::chrono::milliseconds linger{60'000};
  /// True: the lease lasts as long as any process of the job, for those that open the GPU late.
  bool hold = false;
  /// True: its CPUs and memory are those of the NUMA node that its devices are attached to.
  bool bind = false;
  /// True: the job can open no device file of a card that is not its own (run/isolate.h).
  bool isolate = false;

  /// What is to hold it to its share of memory; nothing: the strongest tier that can be had.
  std::optional<CapTier> cap;
  CapAction cap_action = CapAction::warn;

  /// When a device of the run goes wrong: it is always said and recorded; and the job …
  OnGpuFault on_gpu_fault = OnGpuFault::warn;
  int fault_signal = SIGUSR1;  // … gets this with OnGpuFault::signal
  /// Whether a run that ended badly after that is started again without that device, and how often.
  RetryOn retry_on = RetryOn::never;
  int retries = 0;
  /// How often it is started again, with more memory, where it died of want of a device's.
  int retry_oom = 0;

  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

/// How long it waits for devices; 0: not at all, nothing: as long as it takes.
[[nodiscard]] inline std::optional<std::chrono::milliseconds> wait_for_devices(const JobSpec& job) {
  return job.where == RunWhere::gpu_or_cpu ? std::optional(job.cpu_after) : job.wait;
}

/// Which part of a job a key is about: --help has a heading for each.
enum class JobPart { devices, patience, life, label, cluster };

/// One member of a job, and all that is known of how it is written.
struct JobKey {
  JobPart part;
  std::string_view name;  // in JSON, berth.toml and the page
  const char* flag;       // "-n,--devices"
  const char* form;       // of its value: "SIZE"; "[TIME]": may be left out; empty: a switch
  std::string_view help;  // goes through tr()
  /// What the flag without a value, or the switch, says.
  std::string_view alone;
  /// Whether files and programs may say it too, not the command line alone.
  bool is_for_all;
  /// invalid: says what is wrong with the text, not where it stands.
  Result<void> (*parse)(std::string_view text, JobSpec& job);
  /// As one would type it; empty: as it is by itself.
  std::string (*typed)(const JobSpec& job);
  /// Its place in the JSON of a ticket; null: it has none.
  void (*walk)(Archive& archive, Request& request);
};

/// In the order in which they are typed, shown and written.
[[nodiscard]] std::span<const JobKey> job_keys();
/// Null: there is none of that name.
[[nodiscard]] const JobKey* find_job_key(std::string_view name);
/// "--memory", "-n".
[[nodiscard]] std::string_view shown_flag(const JobKey& key);

/// What no member says alone, once all are there: how often, without after what.
[[nodiscard]] Result<void> settle(JobSpec& job);

/// What is asked of devices, as one would type it: "--cpu" alone, "-n 1 --or-cpu=10m".
[[nodiscard]] std::string as_typed(const JobSpec& job);
/// Name and text of each member that differs from its default. A record keeps this of a job.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> typed_members(const JobSpec& job);
/// "berth run -n 1 --wait -- python train.py"
[[nodiscard]] std::string run_line(const JobSpec& job);

}  // namespace berth
