#pragma once
// What the rules see in one look. Pure: a look and the settings in, what is seen and what could not
// be told out. Nothing is remembered here; how long something has lasted is the tracker's business.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "alert/environment.h"
#include "alert/rules.h"
#include "base/units.h"
#include "snapshot/snapshot.h"

namespace berth {

/// What could not be read: whatever the rule said before of it neither goes on nor is over.
struct Unknown {
  AlertRule rule = AlertRule::gpu_lost;
  std::optional<std::string> subject;  // nothing: everything that the rule is about
  friend bool operator==(const Unknown&, const Unknown&) = default;
};

struct RuleMatches {
  /// Each as new: without an id, since the look, or since its own time if it is of an event.
  std::vector<Alert> seen;
  std::vector<Unknown> unknown;
  /// Devices that the look shows. A card that was lost and is not among them has not come back.
  std::vector<DeviceId> devices;
};

/// A file system that berth writes to.
struct DiskUse {
  std::string what;  // in English: "the state directory"
  Reading<Bytes> total;
  Reading<Bytes> available;
};

/// The one that berth's own files are on.
[[nodiscard]] DiskUse disk_of_state(Reading<Bytes> total, Reading<Bytes> available);

struct AlertLook {
  const Snapshot& snapshot;
  WallTime now;
  /// False: the snapshot is one that was shown before, as no further look has come since.
  bool is_fresh = true;
  /// Since when a source that was asked has not answered; nothing: all do.
  std::optional<WallTime> unanswered_since;
  std::vector<DiskUse> disks;
  std::vector<EnvironmentChange> changes;
  std::map<int, DeviceId> cards;  // as EnvironmentMemory::cards()
};

[[nodiscard]] RuleMatches matches(const AlertLook& look, const AlertSettings& settings);

}  // namespace berth
