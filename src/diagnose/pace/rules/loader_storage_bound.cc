// What loads waits for storage.

#include "diagnose/pace/advice.h"
#include "diagnose/pace/questions.h"
#include "diagnose/pace/rules.h"
#include "diagnose/pace/words.h"

namespace berth::pace {

namespace {

/// How those that load wait for the disk.
struct DiskWait {
  double share = 0;   // of the looks at them, the mean of them
  double wanted = 0;  // CPU of each
  int count = 0;
};

DiskWait disk_wait_of(const Seen& seen) {
  const Features& features = seen.features;
  const auto& group = features.workers.processes.empty() ? features.holders : features.workers;
  DiskWait wait;
  for (const ProcessLoad& process : group.processes) {
    wait.share += process.disk_wait;
    wait.wanted += process.wanted;
    ++wait.count;
  }
  if (wait.count > 0) {
    wait.share /= wait.count;
    wait.wanted /= wait.count;
  }
  return wait;
}

}  // namespace

std::optional<Cause> loader_storage_bound(const Seen& seen) {
  const Features& features = seen.features;
  const Thresholds& t = seen.thresholds;
  if (!gpu_waits(seen) || !features.saw_processes || main_is_saturated(seen)) return {};
  const DiskWait wait = disk_wait_of(seen);
  constexpr double resting = 0.6;
  if (wait.count == 0 || wait.wanted > resting) return {};
  const bool reads = features.storage_rate && *features.storage_rate >= t.storage_rate;
  // Everything comes from the disk, a lot of it, and nobody has anything else to do.
  const bool reads_alone = reads && *features.storage_rate >= 10 * t.storage_rate &&
                           features.read_rate && *features.storage_rate >= *features.read_rate / 2;
  const bool in_disk_wait = wait.share >= t.disk_wait_share;
  const bool under_pressure = features.io_pressure.value_or(0) >= t.io_pressure_share;
  const bool whole = in_disk_wait && (reads || !features.storage_rate);
  const bool long_waits = wait.share >= 2 * t.disk_wait_share;
  if (!whole && !long_waits && !(under_pressure && reads) && !reads_alone) return {};
  Finding finding{
      .rule = "loader_storage_bound",
      .severity = Severity::warning,
      .title = sentence("the GPU waits for data: storage does not deliver it fast enough"),
      .evidence = {busy_sentence(seen),
                   sentence(
                       "{} processes that load stood waiting for storage (state D) in {} of the "
                       "looks at them, and used {} of a CPU each",
                       wait.count, percent(wait.share), percent(wait.wanted))},
      .meaning = sentence("The CPUs rest and the disk or the file server works."),
      .steps = advice(Advice::faster_storage, seen.activity.framework),
      .doubt = doubt_of(seen)};
  if (features.storage_rate) {
    finding.evidence.push_back(
        sentence("{} came from storage; the programs read {}", size_rate(*features.storage_rate),
                 size_rate(features.read_rate.value_or(*features.storage_rate))));
  }
  if (under_pressure) {
    finding.evidence.push_back(
        sentence("in {} of the time some task of the machine stood still for "
                 "storage",
                 percent(*features.io_pressure)));
  }
  return Cause{std::move(finding), features.idle()};
}

}  // namespace berth::pace
