// `berth ps` for programs: the objects of a snapshot under the same names, joined per process and
// device.

#include "base/json_archive.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"
#include "snapshot/walk.h"
#include "view/process_rows.h"

namespace berth {

namespace {

std::optional<HostProcess> process_with(pid_t pid, const Snapshot& snapshot) {
  const HostProcess* found = find_process(pid, snapshot);
  return found != nullptr ? std::optional(*found) : std::nullopt;
}

/// Null where nobody could be looked for.
void write_holders(Archive& archive, const Device& device, const std::vector<pid_t>& pids,
                   const Snapshot& snapshot) {
  constexpr std::string_view key = "has_device_open";
  if (!snapshot.device_files.get() || !card_file_number(device).get()) {
    return archive.derived(key, std::optional<std::string>());
  }
  archive.derived_list(key, pids, [&](pid_t pid) {
    if (auto process = process_with(pid, snapshot)) return walk(archive, *process);
    archive.derived("pid", pid);
  });
}

void write_row(Archive& archive, const ProcessRow& row, const Snapshot& snapshot) {
  std::optional<std::string> run;
  std::optional<std::string> lease;
  if (row.claim != nullptr) run = row.claim->run;
  if (row.claim != nullptr) lease = row.claim->id;
  GpuProcess use = *row.use;
  archive.derived("device_index", row.device->index);
  walk(archive, use);
  archive.derived("presence", std::string(name_of(row.presence)));
  archive.derived("run", run);
  archive.derived("lease", lease);
  archive.derived("process", process_with(row.use->pid, snapshot));
  if (has_ended(row)) write_holders(archive, *row.device, row.holders, snapshot);
}

/// For each device where processes without a lease use what leases were promised.
void write_promises_taken(Archive& archive, const SnapshotIndex& index) {
  std::vector<std::pair<const Device*, PromisesTaken>> all;
  for (const Device& device : index.snapshot().devices) {
    PromisesTaken taken = promises_taken(device, index);
    if (!taken.by.empty()) all.emplace_back(&device, std::move(taken));
  }
  archive.derived_list("promises_taken", all, [&](const auto& one) {
    const auto& [device, taken] = one;
    archive.derived("device", device->id);
    archive.derived("device_index", device->index);
    archive.derived("memory_bytes", taken.memory);
    archive.derived_list("by", taken.by, [&](const UnleasedUse& use) {
      archive.derived("user", use.user, Form::nullable);
      archive.derived("memory_bytes", use.memory);
    });
    archive.derived_list("leases", taken.promised_to, [&](const Claim* claim) {
      archive.derived("lease", claim->id);
      archive.derived("user", claim->user);
    });
  });
}

}  // namespace

std::string process_list_json(const Snapshot& snapshot, const ProcessListOptions& options) {
  const SnapshotIndex index(snapshot);
  const auto& files = snapshot.device_files.get();
  return write_json(
             JsonLayout::indented,
             [&](Archive& archive) {
               archive.derived("berth_processes", 1);
               archive.derived("taken_unix_ms", snapshot.taken);
               archive.derived("simulated", snapshot.simulated);
               archive.derived("process_view", snapshot.host.process_view.get());
               archive.derived_list(
                   "processes", process_rows(index, options),
                   [&](const ProcessRow& row) { write_row(archive, row, snapshot); });
               archive.derived_list("unexplained", ghost_rows(index), [&](const GhostRow& ghost) {
                 archive.derived("device", ghost.device->id);
                 archive.derived("device_index", ghost.device->index);
                 archive.derived("memory_bytes", ghost.memory);
                 write_holders(archive, *ghost.device, ghost.holders, snapshot);
               });
               write_promises_taken(archive, index);
               archive.derived("unreadable_processes",
                               files ? files->unreadable.get() : std::optional<std::uint64_t>());
               archive.derived("problems", snapshot.problems);
             }) +
         "\n";
}

}  // namespace berth
