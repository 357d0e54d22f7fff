#pragma once
// A simulated server or a recording: makes whole snapshots, asks no driver and never blocks.

#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "probe/sources.h"
#include "snapshot/snapshot.h"

namespace berth {

class OfflineSource {
 public:
  /// invalid: the scenario or the recording cannot be read.
  static Result<OfflineSource> start(const Sources& sources, Looks looks);
  OfflineSource(OfflineSource&&) noexcept;
  OfflineSource& operator=(OfflineSource&&) noexcept;
  ~OfflineSource();
  /// A recording looked at once shows its first snapshot; else it plays from the first look on.
  [[nodiscard]] Snapshot look(const std::vector<Claim>& claims, WallTime now);

 private:
  struct Parts;
  explicit OfflineSource(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth
