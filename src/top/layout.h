#pragma once
// The places of things on a screen of a given size. render() uses them, and finding out what was
// clicked. Pure arithmetic.

#include "top/model.h"
#include "view/paint.h"

namespace berth::top {

/// The charts of a device: what `live_charts` and `seen_only_charts` (render_devices.cc) list.
inline constexpr int chart_count = 8;

struct Layout {
  std::optional<int> notice_row;  // nothing: all is well
  std::optional<int> heads_row;   // what the meters' columns are; nothing: no room
  int meters_row = 0;
  int meter_rows = 0;
  int meter_columns = 1;        // side by side
  int first_meter = 0;          // which device is the first
  std::optional<int> more_row;  // says how many devices have no meter; nothing: all have one
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

struct Painter;
/// A column of the process table, which view/table.h does not draw: it scrolls, has a cursor, keeps
/// its widths from look to look and is sorted by a click.
struct ProcessColumn {
  std::string_view title;  // goes through tr()
  ColumnWidth room;
  Align align;
  std::optional<SortKey> sort;
  std::string (*text)(const UseRow&, const Painter&);
  bool rare = false;  // what hardly moves: on a narrow screen the command counts for more
};
struct PlacedColumn {
  const ProcessColumn& column;
  int at;
  int width;
};
/// From left to right, those that have room (render_table.cc).
[[nodiscard]] std::vector<PlacedColumn> table_columns(const State& state);

/// Lost, or nothing that a job can be given: a reason stands in place of its readings.
[[nodiscard]] bool is_out_of_use(const Device& device);
/// The others, in the snapshot's order: those get charts.
[[nodiscard]] std::vector<const Device*> charted_devices(const State& state);

}  // namespace berth::top
