#pragma once
// TableLayout: what the default table looks like in each generation of the driver, as data: the
// lines that never change, and the widths of what stands between them. Counted on tables of real
// machines: drivers 418, 510, 525, 535, 540, 545, 550, 565, 570, 575, 580, 590, 595, 610.

#include <array>
#include <string_view>

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
  int from;  // the first driver that draws so
  HeadingLayout heading;
  std::string_view under_heading;  // the line below it
  GpuLayout gpu;
  MigLayout mig;
  ProcessLayout processes;
  int gap;  // spaces in the line between two tables
};

/// The layout of the driver with this major version.
[[nodiscard]] const TableLayout& layout_of(int generation);

}  // namespace berth::smi
