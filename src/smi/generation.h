#pragma once
// Generation: how a driver's nvidia-smi differs from those before it, as data, once for all its
// surfaces. Name and place of each reading of -q are in the reading's row (layout.h). Here is what
// concerns many rows, or none. Counted on tables and dumps of real machines: drivers 418, 510, 525,
// 535, 540, 545, 550, 565, 570, 575, 580, 590, 595, 610.

#include <array>
#include <compare>
#include <optional>
#include <string_view>

#include "snapshot/snapshot.h"

namespace berth::smi {

using Titles = std::array<std::string_view, 3>;

/// "| NVIDIA-SMI 595.80   Driver Version: 595.80   CUDA Version: 13.2 |": widths of the values.
struct HeadingLayout {
  int tool;
  std::string_view driver_label;
  int driver;
  std::string_view cuda_label;  // empty: drivers that did not say it
  int cuda;
};

/// The two or three lines of a GPU.
struct GpuLayout {
  std::array<int, 3> cells;  // widths between the bars
  Titles titles;             // the third only where there is a MIG line
  int name;                  // longer ones are cut
  int before_persistence;
  int draw_end;  // columns of the first cell up to the end of the power draw
  int cap;       // width of the power limit
  // "N/A" leaves the room of the unit free: "N/A /  N/A  ", later "N/A  /  N/A  "
  bool draw_gap;
  bool cap_gap;
  int memory_used;
  int memory_total;
};

struct MigLayout {
  std::array<int, 4> cells;
  Titles titles;
  int used;        // width of the memory used
  int bar1_used;   // … of the BAR1 memory used
  bool shows_mig;  // drivers before 450 know no MIG
};

struct ProcessLayout {
  Titles titles;
  bool instances;  // the columns GI ID and CI ID
  int pid;
  int name;
  int memory;
};

struct TableLayout {
  HeadingLayout heading;
  std::string_view under_heading;  // the line below it
  GpuLayout gpu;
  MigLayout mig;
  ProcessLayout processes;
  int gap;  // spaces in the line between two tables
};

/// dmon and pmon.
struct MonitorLayout {
  int width;        // of a column
  int narrow;       // of pmon's "type" and "sm" in its headings
  int gap;          // before pmon's command
  int date, time;   // with -o
  bool ends_blank;  // dmon's lines end in a space
  bool even;        // pmon's headings do, too
};

/// A driver's number in parts: the 550 of 550.163.01 and the 163.
struct DriverNumber {
  int branch = 0;
  int release = 0;
  friend constexpr auto operator<=>(const DriverNumber&, const DriverNumber&) = default;
};

struct Generation {
  DriverNumber from;  // the first driver that prints so
  TableLayout table;
  MonitorLayout monitor;
  std::size_t colon;       // in -q: the column of it
  int dtd;                 // in -q -x: the version it names
  bool names_twice;        // the driver is KMD, its CUDA is CUDA UMD; the old names are deprecated
  bool tells_margins;      // thresholds of cards that tell their margin are margins
  bool tells_sram_kinds;   // errors of SRAM by kind and source
  bool calls_them_events;  // clocks_event_reasons, before clocks_throttle_reasons
  bool says_no_affinity;   // in topo -m: N/A; before, an empty place
  bool hides_empty_chassis;  // has no numbers for the place of a card that is in no rack
};

/// 610 where the host does not say; a release beyond any where it says only the branch.
[[nodiscard]] DriverNumber driver_of(const Snapshot& snapshot);
[[nodiscard]] const Generation& generation_of(DriverNumber driver);
[[nodiscard]] const Generation& generation_of(const Snapshot& snapshot);

/// The first branch whose -q and --query-gpu say "deprecated" instead of a reading. `key` is the
/// reading's in the field table. Nothing: it is not deprecated.
[[nodiscard]] std::optional<int> deprecated_since(std::string_view key);
[[nodiscard]] bool is_deprecated(std::string_view key, DriverNumber driver);

}  // namespace berth::smi
