#include "top/layout.h"

#include <algorithm>

namespace berth::top {

namespace {

constexpr int meter_minimum = 76;
constexpr int strip_minimum = 64;
constexpr int one_chart_minimum = 32;

bool has_notice(const State& state) {
  if (state.unanswered_since) return true;
  return state.seen &&
         !(state.seen->snapshot.problems.empty() && state.seen->snapshot.faults.empty());
}

int rounded_up(int a, int b) { return (a + b - 1) / b; }

void place_meters(Layout& layout, const State& state, int devices) {
  const int rows = state.size.rows;
  int most = rows <= 12 ? 3 : std::max(3, (rows - 2) * 2 / 5);
  layout.meter_columns = 1;
  while (rounded_up(devices, layout.meter_columns) > most &&
         state.size.columns / (layout.meter_columns + 1) >= meter_minimum) {
    ++layout.meter_columns;
  }
  layout.meter_rows = std::min(rounded_up(devices, layout.meter_columns), most);
  if (layout.meter_rows * layout.meter_columns < devices) {
    layout.more_row = layout.meters_row + --layout.meter_rows;
  }
  const int shown = layout.meter_rows * layout.meter_columns;
  const int focus = static_cast<int>(state.focus);
  layout.first_meter = std::clamp(focus - shown / 2, 0, std::max(0, devices - shown));
}

void place_charts(Layout& layout, const State& state, int devices, int room) {
  constexpr int lowest = 4;
  constexpr int highest = 9;
  if (!state.charts || devices == 0 || room < lowest) return;
  const int narrowest = state.charted == 0 ? strip_minimum : one_chart_minimum;
  layout.chart_columns = std::clamp(state.size.columns / narrowest, 1, devices);
  const int wanted = rounded_up(devices, layout.chart_columns);
  layout.chart_rows = std::min(wanted, room / lowest);
  layout.chart_height = std::min(room / layout.chart_rows, highest);
}

}  // namespace

Layout layout_of(const State& state) {
  Layout layout;
  const int rows = state.size.rows;
  int next = 1;
  if (has_notice(state) && rows > 6) layout.notice_row = next++;
  const int devices = static_cast<int>(shown_devices(state).size());
  constexpr int room_for_heads = 20;
  if (rows >= room_for_heads && devices > 0) layout.heads_row = next++;
  layout.meters_row = next;
  if (rows > 5) place_meters(layout, state, devices);
  next += layout.meter_rows + (layout.more_row ? 1 : 0);
  layout.charts_row = next;
  layout.footer_row = std::max(rows - 1, 0);
  const int left = std::max(layout.footer_row - next, 0);
  const int processes = static_cast<int>(std::min<std::size_t>(state.rows.size(), 1000));
  const int table = 1 + std::clamp(processes, 4, std::max(4, left / 2));
  place_charts(layout, state, static_cast<int>(charted_devices(state).size()), left - table);
  next += layout.chart_rows * layout.chart_height;
  layout.header_row = next;
  layout.table_row = next + 1;
  layout.table_rows = std::max(layout.footer_row - layout.table_row, 0);
  // A panel takes the room of charts and table; on a low screen that of the meters too.
  layout.panel_row = left >= 12 ? layout.charts_row : std::min(1, rows);
  layout.panel_rows = std::max(layout.footer_row - layout.panel_row, 0);
  return layout;
}

bool is_out_of_use(const Device& device) { return device.lost || !device.unusable_because.empty(); }

std::vector<const Device*> charted_devices(const State& state) {
  std::vector<const Device*> charted = shown_devices(state);
  std::erase_if(charted, [](const Device* device) { return is_out_of_use(*device); });
  return charted;
}

}  // namespace berth::top
