// The upper half: a line of meters per device, and its charts.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "base/tr.h"
#include "snapshot/device_name.h"
#include "snapshot/heat.h"
#include "snapshot/questions.h"
#include "top/layout.h"
#include "top/painter.h"
#include "view/health_text.h"
#include "view/paint.h"
#include "view/values.h"

namespace berth::top {

namespace {

double share_of(const Reading<Percent>& reading) {
  return reading.get() ? reading.get()->count() / 100.0 : 0;
}

double memory_share(const Device& device) {
  if (!device.memory_used.get() || !device.memory_total.get()) return 0;
  const auto total = static_cast<double>(device.memory_total.get()->count());
  return total > 0 ? static_cast<double>(device.memory_used.get()->count()) / total : 0;
}

std::string memory_of(const Device& device, const Style& style) {
  if (!device.memory_used.get() || !device.memory_total.get()) {
    return std::string(absent_mark(style));
  }
  return bytes_of_total(*device.memory_used.get(), *device.memory_total.get());
}

std::string power_of(const Device& device, const Style& style) {
  if (!device.power_draw.get()) return std::string(absent_mark(style));
  const auto watts = [](Milliwatts power) { return (power.count() + 500) / 1000; };
  if (!device.power_limit.get()) return fmt::format("{}W", watts(*device.power_draw.get()));
  return fmt::format("{}/{}W", watts(*device.power_draw.get()), watts(*device.power_limit.get()));
}

std::string temperature_of(const Device& device, const Style& style) {
  return reading_text(device.temperature, style,
                      [&](Celsius heat) { return temperature_text(heat, style); });
}

/// Of a MIG instance its profile, which is what tells it from the next: "MIG 1g.10gb".
std::string model_of(const Device& device) {
  std::string name = device.name.get().value_or("");
  if (const std::size_t profile = name.rfind("MIG ");
      device.partition && profile != std::string::npos) {
    return name.substr(profile);
  }
  return std::string(berth::model_of(name));
}

Tone tone_of_heat(const Device& device) {
  const Heat heat = heat_of(device).value_or(Heat::normal);
  return heat == Heat::hot ? Tone::bad : heat == Heat::warm ? Tone::high : Tone::plain;
}

std::string reserved_for(const Device& device, const Snapshot& snapshot) {
  const std::vector<std::string> users = users_waiting_for(device, snapshot);
  if (users.empty()) return std::string(tr("reserved"));
  return trf("reserved: {}", fmt::join(users, ", "));
}

/// One line; what does not fit is left out in the order of its worth.
void draw_meter(const Painter& painter, const Device& device, int column, int row, int width,
                bool focused) {
  const Style& style = painter.style;
  const Snapshot& snapshot = painter.state.seen->snapshot;
  const bool is_failed = obstacle_of(device, snapshot) == Obstacle::failed;
  const bool is_kept = state_of(device, snapshot) == DeviceState::reserved;
  const std::string index = short_name(device) + (is_failed ? "!" : is_kept ? "*" : "");
  painter.cell(column, row, index, 4, true, focused ? Tone::key : Tone::bold);
  int at = column + 5;
  int room = width - 5;
  const int name_width = room >= 66 ? std::min(22, room - 52) : 0;
  if (name_width > 0) {
    const std::string model = model_of(device);
    painter.cell(at, row,
                 is_failed ? fmt::format("{} {}", health_word(HealthState::failed), model)
                 : is_kept ? reserved_for(device, snapshot)
                           : model,
                 name_width, false,
                 is_failed ? Tone::bad
                 : is_kept ? Tone::high
                           : Tone::plain);
    at += name_width + 1;
    room -= name_width + 1;
  }
  if (is_out_of_use(device)) {
    const std::string why = device.unusable_because.empty() ? std::string(tr("it fell off the bus"))
                                                            : tr_composed(device.unusable_because);
    painter.cell(at, row, why, room, false, Tone::bad);
    return;
  }
  constexpr int percent_width = 5;
  constexpr int memory_width = 12;
  constexpr int heat_width = 6;
  const int power_width = room >= 46 ? 9 : 0;
  const int bars = room - percent_width - memory_width - heat_width - power_width - 2;
  const int bar_width = bars >= 8 ? bars / 2 : 0;
  const double busy = share_of(device.utilization_gpu);
  painter.cell(at, row, percent_of(device.utilization_gpu, style), percent_width - 1, true,
               tone_of_share(busy));
  at += percent_width;
  if (device.utilization_gpu.get()) painter.meter(at, row, bar_width, busy);
  at += bar_width;
  const double full = memory_share(device);
  painter.cell(at, row, memory_of(device, style), memory_width - 1, true, tone_of_share(full));
  at += memory_width;
  if (device.memory_used.get()) painter.meter(at, row, bar_width, full);
  at += bar_width;
  painter.cell(at, row, power_width > 0 ? power_of(device, style) : "", power_width, true,
               Tone::plain);
  at += power_width;
  painter.cell(at, row, temperature_of(device, style), heat_width, true, tone_of_heat(device));
}

float highest_of(const Series* series, float at_least) {
  if (series == nullptr) return at_least;
  return std::max(at_least, series->most().value_or(0));
}

std::string load_text(const Device& device, const Style& style) {
  return percent_of(device.utilization_gpu, style);
}
std::string full_text(const Device& device, const Style& style) {
  if (!device.memory_used.get() || !device.memory_total.get()) {
    return std::string(absent_mark(style));
  }
  return percent_text(Percent(100 * memory_share(device)));
}
std::string draw_text(const Device& device, const Style& style) {
  return reading_text(device.power_draw, style, power_text);
}

template <class T>
std::optional<float> as_top(const Reading<T>& reading) {
  if (!reading.get() || reading.get()->count() <= 0) return std::nullopt;
  return static_cast<float>(reading.get()->count());
}

/// A chart of a recorded reading.
struct LiveChart {
  std::string_view reading;
  std::string_view title;  // a key of the catalogue
  Tone tone;
  std::string (*text)(const Device&, const Style&);
  /// The value of its upper edge. Nothing: what it would be a part of is not known.
  std::optional<float> (*top)(const Device&, const Series*);
};
constexpr auto live_charts = std::to_array<LiveChart>({
    {"utilization_gpu_percent", as_key("util"), Tone::chart_utilization, load_text,
     [](const Device&, const Series*) { return std::optional(100.0F); }},
    {"memory_used_bytes", as_key("memory"), Tone::chart_memory, full_text,
     [](const Device& device, const Series*) { return as_top(device.memory_total); }},
    {"power_draw_milliwatts", as_key("power"), Tone::chart_power, draw_text,
     [](const Device& device, const Series* series) {
       return std::optional(highest_of(series, as_top(device.power_limit).value_or(50'000.0F)));
     }},
    {"temperature_celsius", as_key("temp"), Tone::chart_temperature, temperature_of,
     [](const Device&, const Series* series) { return std::optional(highest_of(series, 100)); }},
});
static_assert(has_all_drawn(Drawn::live, live_charts, &LiveChart::reading),
              "each reading that is drawn live has a chart, and no other has one");

std::vector<Painter::Plot> plots_of(const Painter& painter, const Device& device) {
  const DeviceHistory* history = painter.history.device(device.id);
  std::vector<Painter::Plot> plots;
  for (const LiveChart& chart : live_charts) {
    const Series* series = history == nullptr ? nullptr : &history->of(chart.reading);
    const auto top = chart.top(device, series);
    plots.push_back({std::string(tr(chart.title)), chart.text(device, painter.style),
                     top ? series : nullptr, top.value_or(1), chart.tone});
  }
  return plots;
}

/// A device's four charts side by side; fewer where they would be too narrow to read.
void draw_strip(const Painter& painter, const Device& device, int column, int row, int width,
                int height) {
  painter.cell(column, row, short_name(device), 4, true, Tone::bold);
  constexpr int label = 5;
  constexpr int narrowest = 14;
  std::vector<Painter::Plot> plots = plots_of(painter, device);
  const int room = width - label;
  const int shown = std::clamp(room / narrowest, 1, static_cast<int>(plots.size()));
  const int each = room / shown;
  for (int i = 0; i < shown; ++i) {
    painter.plot(column + label + i * each, row, each - 1, height,
                 plots[static_cast<std::size_t>(i)]);
  }
}

}  // namespace

void draw_meters(const Painter& painter) {
  const Layout& layout = painter.layout;
  const auto devices = shown_devices(painter.state);
  const int width = painter.screen.size().columns / layout.meter_columns;
  for (int i = 0; i < layout.meter_rows * layout.meter_columns; ++i) {
    const auto place = static_cast<std::size_t>(layout.first_meter + i);
    if (place >= devices.size()) break;
    draw_meter(painter, *devices[place], (i / layout.meter_rows) * width,
               layout.meters_row + i % layout.meter_rows, width, place == painter.state.focus);
  }
  if (layout.more_row < 0) return;
  const auto shown = static_cast<std::size_t>(layout.meter_rows * layout.meter_columns);
  painter.say(5, layout.more_row, trf("{} more devices (Left, Right, Tab)", devices.size() - shown),
              Tone::dim);
}

void draw_charts(const Painter& painter) {
  const Layout& layout = painter.layout;
  if (layout.chart_height == 0) return;
  const auto devices = charted_devices(painter.state);
  const int width = painter.screen.size().columns / layout.chart_columns;
  const auto count = static_cast<std::size_t>(layout.chart_rows * layout.chart_columns);
  // All of them where they fit, else from the focused one on.
  const std::size_t last_start = devices.size() > count ? devices.size() - count : 0;
  const auto shown = shown_devices(painter.state);
  std::size_t before = 0;  // charted devices that stand before the focused one
  for (std::size_t i = 0; i < std::min(painter.state.focus, shown.size()); ++i) {
    if (!is_out_of_use(*shown[i])) ++before;
  }
  const std::size_t first = std::min(before, last_start);
  for (std::size_t i = 0; i < count && first + i < devices.size(); ++i) {
    const int place = static_cast<int>(i);
    draw_strip(painter, *devices[first + i], (place % layout.chart_columns) * width,
               layout.charts_row + (place / layout.chart_columns) * layout.chart_height, width,
               layout.chart_height);
  }
}

}  // namespace berth::top
