#pragma once
// The two halves of the status picture: the devices' columns, and each device's users. Shared by
// status*.cc alone, apart from the words of states.

#include <optional>
#include <string>
#include <vector>

#include "snapshot/snapshot_index.h"
#include "view/status.h"
#include "view/table.h"

namespace berth {

/// The users of the device itself, not of its MIG instances. One row for each process, lease and
/// unexplained amount of memory; leased processes come first.
[[nodiscard]] std::vector<TableRow> occupants_of(const Device& device, const SnapshotIndex& index,
                                                 const std::optional<std::string>& user,
                                                 const Style& style);

/// The user is somebody on the device or on it by lease.
[[nodiscard]] bool has_something_on(const std::string& user, const Device& device,
                                    const SnapshotIndex& index);

/// One table of them all, so that columns line up across devices.
[[nodiscard]] Table occupant_table(const std::vector<std::vector<TableRow>>& all, int width,
                                   const Style& style);

/// One device: its cells in the columns' order. If it has no readings to show, `reason` stands in
/// place of the middle ones.
struct DeviceRow {
  const Device* device = nullptr;
  DeviceState state = DeviceState::free;
  bool divided = false;  // its MIG instances follow
  TableRow cells;
  std::string reason;
  std::string health;  // what is not ok; empty: nothing, or `reason` says it
  Paint health_paint = Paint::plain;
  double memory_share = 0;
  bool has_memory_share = false;
};

class DeviceColumns {
 public:
  DeviceColumns(const std::vector<DeviceRow>& rows, int width, const Style& style);
  [[nodiscard]] std::string header() const { return table_.head(); }
  void add(Line& line, const DeviceRow& row) const;
  /// Where the next column may start.
  [[nodiscard]] int width() const;
  /// For a row's reason, in place of its readings; it is cut to that.
  [[nodiscard]] int reason_room() const;

 private:
  Style style_;
  Table table_;
};

[[nodiscard]] DeviceRow device_row(const Device& device, const SnapshotIndex& index,
                                   const std::string& users, const Style& style);

/// "free", "leased", … in the reader's language.
[[nodiscard]] std::string_view state_word(DeviceState state);
[[nodiscard]] Paint state_paint(DeviceState state);

}  // namespace berth
