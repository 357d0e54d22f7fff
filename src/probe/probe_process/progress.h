#pragma once
// How far a look at the machine has come: what was learned, which steps are over, which one is
// going on. Both sides keep one and change it by the same messages. So a new probe process goes on
// where the given-up one had stopped. Pure.

#include <map>
#include <optional>
#include <set>

#include "base/clock.h"
#include "base/result.h"
#include "probe/probe_process/wire.h"
#include "snapshot/snapshot.h"

namespace berth {

struct Progress {
  std::optional<DeviceKind> driver;    // which is asked; nothing: none, only what the others told
  Snapshot snapshot;                   // its processes by their pids all the while
  std::set<wire::ProbeStep> over;      // finished or given up: not asked again
  std::set<wire::ProbeStep> given_up;  // a part of `over`
  std::optional<wire::ProbeStep> current;
  /// How often it has said so. The driver's library first starts, then is asked; a device first
  /// wakes up, then says who it is.
  int begun = 0;
  std::optional<int> device_count;             // once the driver has told
  std::optional<wire::Identified> identified;  // the device being asked
  /// What was said of devices that were given up before they had said who they are.
  std::map<std::uint64_t, Sentence> unnamed;
  /// What the driver has told by its events since the look before. A collector of many looks
  /// keeps it (probe/xid_memory.h).
  Reading<std::vector<XidEvent>> driver_events;

  bool is_done = false;  // all was told

  [[nodiscard]] bool is_over(wire::ProbeStep step) const { return over.contains(step); }
  [[nodiscard]] bool is_given_up(wire::ProbeStep step) const { return given_up.contains(step); }
  /// Null: nothing was told of it.
  [[nodiscard]] const HostProcess* process(pid_t pid) const;
};

/// A process of which only the number is known.
[[nodiscard]] HostProcess unread_process(pid_t pid);

/// Adds what somebody else told of the machine. What is known stays.
void fill(Host& known, Host told);

/// What a message adds.
void apply(Progress& progress, wire::Message&& message);

/// Why a step is not waited for any longer.
struct GivenUp {
  enum class Why { stalled, died, out_of_time } why = Why::stalled;
  Duration waited{};  // stalled: for so long
  Sentence how;       // died: "signal 11"
};

/// Leaves a step out for good: what it would have told is `failed`, and a Problem says why.
void give_up(Progress& progress, wire::ProbeStep step, const GivenUp& reason);

/// Gives up whatever the driver still was to be asked.
void give_up_driver(Progress& progress, const GivenUp& reason);

/// Gives up the current step, and what cannot be asked without it. Those are the driver's devices,
/// if its library did not start or its time is over (`driver_is_late`). False: there was no step
/// that the next probe process could leave out, so it would fare no better. A Problem then says
/// what became of this one.
[[nodiscard]] bool give_up_current(Progress& progress, const GivenUp& reason, bool driver_is_late);

/// The reason for a probe process that wrote something else than messages.
[[nodiscard]] GivenUp scribbled();

/// A Problem: no probe process could be started.
void tell_of_no_process(Progress& progress, const Error& why);

/// The snapshot in its promised order, with the success of each asked source. That is the driver,
/// and with `kernel` the kernel's sources. `has_run`: a probe process did.
struct Finished {
  bool kernel = true;
  bool has_run = true;
};
[[nodiscard]] Snapshot finished_snapshot(Progress progress, Finished how = {});
/// By index, partitions after their parent, those without a number last; otherwise as told.
void sort_devices(std::vector<Device>& devices);

}  // namespace berth
