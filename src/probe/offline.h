#pragma once
// A simulated server or a recording: makes whole snapshots, asks no driver and never blocks.

#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "probe/replay/replay.h"
#include "probe/sources.h"
#include "snapshot/snapshot.h"

namespace berth {

class OfflineSource {
 public:
  /// The server that `sources` names. invalid: its scenario cannot be read.
  static Result<OfflineSource> simulate(const Sources& sources);
  /// A recording looked at once shows its first snapshot; else it plays from the first look on.
  /// invalid: that one cannot be read.
  static Result<OfflineSource> play(Recording recording, Looks looks);
  OfflineSource(OfflineSource&&) noexcept;
  OfflineSource& operator=(OfflineSource&&) noexcept;
  ~OfflineSource();
  [[nodiscard]] Snapshot look(const std::vector<Claim>& claims, WallTime now);

 private:
  struct Parts;
  explicit OfflineSource(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth
