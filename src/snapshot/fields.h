#pragma once
// THE field table: every reading of a device, once. JSON, CSV, `--fields`, the wire of the probe
// process, replay and doc/METRICS.md all walk this table. So a new reading needs one row, and what
// it reads: a member in device.h, or a detail in details.h. The status table picks its few columns.

#include <optional>
#include <span>
#include <string_view>

#include "snapshot/cell.h"
#include "snapshot/details.h"
#include "snapshot/snapshot.h"
#include "snapshot/wanted.h"

namespace berth {

enum class Unit {
  none,  // a text or a yes/no
  count,
  bytes,
  bytes_per_second,
  percent,
  celsius,
  milliwatts,
  millijoules,
  megahertz,
  bits,
  microseconds,
  milliseconds,
  seconds,
  millivolts
};

struct Field {
  std::string_view key;     // ours, the unit in the name: "memory_used_bytes"
  std::string_view header;  // of a column, for people; goes through tr()
  std::string_view smi;     // nvidia-smi's --query-gpu name, "memory.used"; empty: it has none
  std::string_view metric;  // Prometheus name {label="x"}, base units; empty: not a metric
  Unit unit = Unit::none;
  std::string_view help;  // one sentence; goes through tr()
  Cell (*read)(const Device&, const Snapshot&) = nullptr;
  /// Puts a cell back into a device (reading JSON); null: derived from others, not stored.
  /// False: the cell has the wrong type.
  bool (*write)(Device&, const Cell&) = nullptr;
  /// Set: it stands in Device::details, and a look without details does without it.
  std::optional<Detail> detail = std::nullopt;
  /// Adds what it is read from, where that is no detail. Null: it follows from the device's
  /// identity.
  void (*want)(Wanted&) = nullptr;
  bool is_fact = false;  // stays true of a device that is lost
};

[[nodiscard]] std::span<const Field> fields();

/// The fields that a device keeps in members of its own: neither derived from others nor details.
[[nodiscard]] std::span<const Field* const> stored_fields();

/// The row of a detail.
[[nodiscard]] const Field& field_of(Detail detail);

/// By our key, nvidia-smi's name, or one of its aliases. Null: no such field.
[[nodiscard]] const Field* find_field(std::string_view name);

}  // namespace berth
