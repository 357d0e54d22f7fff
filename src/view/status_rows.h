#pragma once
// The two halves of the status picture: the devices' columns, and who is on each. Shared by
// status*.cc alone.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "snapshot/snapshot_index.h"
#include "view/paint.h"
#include "view/status.h"

namespace berth {

/// One process, lease or unexplained amount of memory on a device.
struct OccupantRow {
  std::string user;
  std::string pid;
  std::string command;
  std::string age;
  std::string memory;
  std::string note;  // how it stands to the leases
  Paint note_paint = Paint::plain;
};

/// Who is on the device itself (not on its MIG instances): leased processes first.
[[nodiscard]] std::vector<OccupantRow> occupants_of(const Device& device,
                                                    const SnapshotIndex& index,
                                                    const std::optional<std::string>& user,
                                                    const Style& style);

/// The user is somebody on the device or on it by lease.
[[nodiscard]] bool has_something_on(const std::string& user, const Device& device,
                                    const SnapshotIndex& index);

/// Columns of the occupants' rows, common to all devices so that they stand under each other.
class OccupantColumns {
 public:
  OccupantColumns(const std::vector<std::vector<OccupantRow>>& all, int width);
  void add(Line& line, const OccupantRow& occupant) const;

 private:
  std::vector<int> widths_;
};

/// One device: its cells in the columns' order; `reason` instead of the middle ones where it has no
/// readings to show.
struct DeviceRow {
  const Device* device = nullptr;
  DeviceState state = DeviceState::free;
  bool divided = false;  // its MIG instances follow
  std::vector<std::string> cells;
  std::string reason;
  std::string health;  // what is not ok; empty: nothing, or `reason` says it
  Paint health_paint = Paint::plain;
  double memory_share = 0;
  bool has_memory_share = false;
  Paint heat_paint = Paint::plain;
};

class DeviceColumns {
 public:
  DeviceColumns(const std::vector<DeviceRow>& rows, int width, const Style& style);
  [[nodiscard]] std::string header() const;
  void add(Line& line, const DeviceRow& row) const;
  /// Where the next column may start.
  [[nodiscard]] int width() const;
  /// For a row's reason, in place of its readings; it is cut to that.
  [[nodiscard]] int reason_room() const;

 private:
  void add_reason(Line& line, const DeviceRow& row) const;
  Style style_;
  std::vector<int> widths_;
};

[[nodiscard]] DeviceRow device_row(const Device& device, const SnapshotIndex& index,
                                   const std::string& users, const Style& style);

/// "free", "leased", … in the reader's language.
[[nodiscard]] std::string_view state_word(DeviceState state);
[[nodiscard]] Paint state_paint(DeviceState state);

}  // namespace berth
