#pragma once
// Where things stand on a screen of a given size: for render() and for finding out what was
// clicked. Pure arithmetic.

#include "top/model.h"

namespace berth::top {

/// Of a device: what `live_charts` and `seen_only_charts` (render_devices.cc) list.
inline constexpr int chart_count = 8;

struct Layout {
  int notice_row = -1;  // -1: nothing is wrong
  int heads_row = -1;   // what the meters' columns are; -1: no room
  int meters_row = 0;
  int meter_rows = 0;
  int meter_columns = 1;  // side by side
  int first_meter = 0;    // which device is the first
  int more_row = -1;      // says how many devices have no meter; -1: all have one
  int charts_row = 0;
  int chart_height = 0;  // of one device's strip; 0: no charts
  int chart_columns = 1;
  int chart_rows = 0;  // strips above each other
  int header_row = 0;  // of the table
  int table_row = 0;
  int table_rows = 0;
  int footer_row = 0;
  int panel_row = 0;
  int panel_rows = 0;
};

[[nodiscard]] Layout layout_of(const State& state);

/// Columns of the process table, in their order; width 0: not shown.
struct TableColumn {
  enum class What {
    device,
    pid,
    user,
    type,
    memory,
    sm,
    bandwidth,
    encoder,
    decoder,
    cpu,
    resident,
    age,
    state,
    command
  };
  What what;
  std::string_view title;  // in the reader's language
  std::optional<SortKey> sort;
  bool right;
  int width = 0;
};
[[nodiscard]] std::vector<TableColumn> table_columns(const State& state);

/// Lost, or nothing that a job can be given: a reason stands in place of its readings.
[[nodiscard]] bool is_out_of_use(const Device& device);
/// The others, in the snapshot's order: those get charts.
[[nodiscard]] std::vector<const Device*> charted_devices(const State& state);

}  // namespace berth::top
