#pragma once
// What `berth ps` says of one process on one device, before it is a table or JSON.

#include <string>
#include <vector>

#include "snapshot/snapshot_index.h"
#include "view/process_list.h"

namespace berth {

/// Whether the process behind an entry of the driver's list is there.
enum class Presence {
  alive,
  stuck,      // it stays in uninterruptible sleep: no signal reaches it
  zombie,     // ended, its parent has not asked how
  gone,       // ended altogether, and the driver still lists it
  elsewhere,  // in a namespace that cannot be seen into, or none of those here that can be told
  hidden      // /proc does not show other users' processes
};
[[nodiscard]] std::string_view name_of(Presence presence);
/// In place of a command that cannot be read, in the reader's language.
[[nodiscard]] std::string_view unseen_words(Presence presence);
/// Null: nothing is known of it.
[[nodiscard]] Presence presence_of(const HostProcess* process, const Host& host);

struct ProcessRow {
  const Device* device = nullptr;
  const GpuProcess* use = nullptr;
  const HostProcess* process = nullptr;  // null: /proc does not have it
  const Claim* claim = nullptr;          // the lease it runs under
  Presence presence = Presence::alive;
  /// For a process that has ended: those that have the device's file open and are not in the
  /// driver's list.
  std::vector<pid_t> holders;
};
[[nodiscard]] bool has_ended(const ProcessRow& row);

/// Whether it is of this user, by name or number. Null: nobody knows whose it is.
[[nodiscard]] bool is_of(const std::string& user, const HostProcess* process);

/// In the order of devices, then by pid.
[[nodiscard]] std::vector<ProcessRow> process_rows(const SnapshotIndex& index,
                                                   const ProcessListOptions& options);

/// A device, or a MIG instance, whose memory its processes do not explain.
struct GhostRow {
  const Device* device = nullptr;
  Bytes memory;
  /// Processes that have its file (an instance's: its card's) open and are not in the driver's
  /// list.
  std::vector<pid_t> holders;
};
[[nodiscard]] std::vector<GhostRow> ghost_rows(const SnapshotIndex& index);

/// CPU time over age, since its start, as ps(1) has it: may be over 100.
[[nodiscard]] Reading<Percent> cpu_share(const HostProcess& process, WallTime now);

}  // namespace berth
