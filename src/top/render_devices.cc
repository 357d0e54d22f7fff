// The upper half: a line of meters per device, and its charts.

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/tr.h"
#include "snapshot/device_kind.h"
#include "snapshot/device_name.h"
#include "snapshot/heat.h"
#include "snapshot/questions.h"
#include "top/layout.h"
#include "top/painter.h"
#include "view/health_text.h"
#include "view/paint.h"
#include "view/status_rows.h"
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
  return std::string(is_used_a_bound(device) ? bound_mark(style) : "") +
         bytes_of_total(*device.memory_used.get(), *device.memory_total.get());
}

std::string power_of(const Device& device, const Style& style) {
  if (!device.power_draw.get()) return std::string(absent_mark(style));
  const auto watts = [](Milliwatts power) { return (power.count() + 500) / 1000; };
  if (!device.power_limit.get()) return fmt::format("{}W", watts(*device.power_draw.get()));
  return fmt::format("{}/{}W", watts(*device.power_draw.get()), watts(*device.power_limit.get()));
}

std::string heat_text(Celsius heat, const Style& style, bool fahrenheit) {
  if (!fahrenheit) return temperature_text(heat, style);
  return fmt::format("{}{}F", (heat.count() * 9 + (heat.count() < 0 ? -2 : 2)) / 5 + 32,
                     style.utf8 ? "°" : "");
}

std::string temperature_of(const Device& device, const Painter& painter) {
  return reading_text(device.temperature, painter.style, [&](Celsius heat) {
    return heat_text(heat, painter.style, painter.state.fahrenheit);
  });
}

/// For a MIG instance its profile, which tells it from the next: "MIG 1g.10gb".
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
  return trf("reserved: {}", joined(users, ", "));
}

/// The users with leases there, then the other users on it.
std::string holders_of(const Device& device, const Seen& seen) {
  std::vector<std::string> users;
  const auto add = [&](const std::string& user) {
    if (!user.empty() && std::ranges::find(users, user) == users.end()) users.push_back(user);
  };
  for (const Claim* claim : seen.index.claims_on(device.id)) add(claim->user);
  for (const GpuProcess* use : seen.index.processes_on(device.id)) {
    const HostProcess* process = seen.index.process(use->pid);
    if (process != nullptr) add(process->user.get().value_or(""));
  }
  return joined(users, ",");
}

/// The run that leases it: the end of its id names it.
std::string run_of(const Device& device, const Seen& seen) {
  constexpr std::size_t shortest = 6;
  const auto& claims = seen.index.claims_on(device.id);
  if (claims.empty()) return {};
  const std::string& run = claims.front()->run;
  std::string text = run.substr(run.size() - std::min(shortest, run.size()));
  if (claims.size() > 1) text += fmt::format("+{}", claims.size() - 1);
  return text;
}

/// The columns of a device's line; those of width 0 have no room.
struct MeterColumns {
  static constexpr int index = 4;
  int name = 0;
  static constexpr int percent = 4;
  int bar = 0;  // of each of the two
  static constexpr int memory = 11;
  int power = 0;
  static constexpr int heat = 5;
  int fan = 0;
  int clock = 0;
  int pcie = 0;
  int state = 0;
  int holder = 0;
  int run = 0;
};

/// In the order of their worth, until the line is full; what is left makes bars longer.
MeterColumns meter_columns(int width) {
  MeterColumns columns;
  int room =
      width - (columns.index + 1) - (columns.percent + 1) - columns.memory - 1 - (columns.heat + 1);
  const auto take = [&](int& column, int wanted) {
    if (room < wanted + 1) return;
    column = wanted;
    room -= wanted + 1;
  };
  constexpr int shortest_bar = 8;
  int bars = 0;
  take(columns.power, 8);
  take(bars, 2 * shortest_bar);
  take(columns.name, 14);
  take(columns.state, 8);
  take(columns.holder, 8);
  take(columns.run, 8);
  take(columns.clock, 8);
  take(columns.pcie, 5);
  take(columns.fan, 4);
  constexpr int longer_name = 8;
  if (columns.fan > 0 && room > longer_name) {
    columns.name += longer_name;
    room -= longer_name;
  }
  columns.bar = bars == 0 ? 0 : shortest_bar + room / 2;
  return columns;
}

/// One line; what does not fit is left out in the order of its worth.
void draw_meter(const Painter& painter, const Device& device, int column, int row, int width,
                bool focused) {
  using enum Align;
  const Style& style = painter.style;
  const Seen& seen = *painter.state.seen;
  const bool is_failed = obstacle_of(device, seen.snapshot) == Obstacle::failed;
  const bool is_kept = state_of(device, seen.index) == DeviceState::reserved;
  const MeterColumns columns = meter_columns(width);
  const std::string index = short_name(device) + (is_failed ? "!" : is_kept ? "*" : "");
  painter.cell(column, row, index, columns.index, right, focused ? Tone::key : Tone::bold);
  int at = column + columns.index + 1;
  const auto add = [&](const std::string& text, int taken, Align align, Tone tone) {
    if (taken == 0) return;
    painter.cell(at, row, text, taken, align, tone);
    at += taken + 1;
  };
  // Without a column for the state its name gives way to what is wrong.
  const bool has_state = columns.state > 0;
  add(is_failed && !has_state
          ? fmt::format("{} {}", health_word(HealthState::failed), model_of(device))
      : is_kept && !has_state ? reserved_for(device, seen.snapshot)
                              : model_of(device),
      columns.name, left,
      is_failed ? Tone::bad
      : is_kept ? Tone::high
                : Tone::plain);
  if (is_out_of_use(device)) {
    const std::string why = device.unusable_because.empty() ? std::string(tr("it fell off the bus"))
                                                            : device.unusable_because.shown();
    painter.cell(at, row, why, column + width - at, left, Tone::bad);
    return;
  }
  const double busy = share_of(device.utilization_gpu);
  const auto tone = [](bool is_known, double share) {
    return is_known ? tone_of_share(share) : Tone::dim;
  };
  add(percent_of(device.utilization_gpu, style), columns.percent, right,
      tone(device.utilization_gpu.has_value(), busy));
  if (device.utilization_gpu.get()) painter.meter(at, row, columns.bar, busy);
  at += columns.bar;
  const double full = memory_share(device);
  add(memory_of(device, style), columns.memory, right, tone(device.memory_used.has_value(), full));
  if (device.memory_used.get()) painter.meter(at, row, columns.bar, full);
  at += columns.bar + 1;
  add(power_of(device, style), columns.power, right, Tone::plain);
  add(temperature_of(device, painter), columns.heat, right, tone_of_heat(device));
  add(reading_text(device.fan_speed, style, percent_text), columns.fan, right, Tone::plain);
  add(reading_text(device.clock_sm, style, berth::clock_text), columns.clock, right, Tone::plain);
  add(pcie_text(device, style), columns.pcie, right, Tone::plain);
  add(std::string(is_failed ? health_word(HealthState::failed)
                            : state_word(state_of(device, seen.index))),
      columns.state, left,
      is_failed ? Tone::bad
      : is_kept ? Tone::high
                : Tone::plain);
  add(is_kept ? "→" + joined(users_waiting_for(device, seen.snapshot), ",")
              : holders_of(device, seen),
      columns.holder, left, Tone::plain);
  add(run_of(device, seen), columns.run, left, Tone::dim);
}

/// What the columns below are, where there is a row for it.
void draw_meter_heads(const Painter& painter, int column, int row, int width) {
  using enum Align;
  const MeterColumns columns = meter_columns(width);
  int at = column;
  const auto add = [&](std::string_view title, int taken, Align align) {
    if (taken == 0) return;
    painter.cell(at, row, title, taken, align, Tone::dim);
    at += taken + 1;
  };
  add(tr("GPU"), columns.index, right);
  add(tr("NAME"), columns.name, left);
  add(tr("UTIL"), columns.percent, right);
  at += columns.bar;
  add(tr("MEMORY"), columns.memory, right);
  at += columns.bar + 1;
  add(tr("POWER"), columns.power, right);
  add(tr("TEMP"), columns.heat, right);
  add(tr("FAN"), columns.fan, right);
  add(tr("CLOCK"), columns.clock, right);
  add(tr("PCIE"), columns.pcie, right);
  add(tr("STATE"), columns.state, left);
  add(tr("USERS"), columns.holder, left);
  add(tr("RUN"), columns.run, left);
}

float highest_of(const Series* series, float at_least) {
  if (series == nullptr) return at_least;
  return std::max(at_least, series->most().value_or(0));
}

std::string load_text(const Device& device, const Painter& painter) {
  return percent_of(device.utilization_gpu, painter.style);
}
std::string full_text(const Device& device, const Painter& painter) {
  if (!device.memory_used.get() || !device.memory_total.get()) {
    return std::string(absent_mark(painter.style));
  }
  return std::string(is_used_a_bound(device) ? bound_mark(painter.style) : "") +
         percent_text(Percent(100 * memory_share(device)));
}
std::string draw_text(const Device& device, const Painter& painter) {
  return reading_text(device.power_draw, painter.style, power_text);
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
  std::string (*text)(const Device&, const Painter&);
  std::string (*value)(float, const Painter&);  // of its axis
  /// The value of its upper edge. Nothing: what it would be a part of is not known.
  std::optional<float> (*top)(const Device&, const Series*);
};
constexpr auto live_charts = std::to_array<LiveChart>({
    {"utilization_gpu_percent", as_key("util"), Tone::chart_utilization, load_text,
     [](float value, const Painter&) { return percent_text(Percent(value)); },
     [](const Device&, const Series*) { return std::optional(100.0F); }},
    {"memory_used_bytes", as_key("memory"), Tone::chart_memory, full_text,
     [](float value, const Painter&) {
       return bytes_short(Bytes(static_cast<std::uint64_t>(value)));
     },
     [](const Device& device, const Series*) { return as_top(device.memory_total); }},
    {"power_draw_milliwatts", as_key("power"), Tone::chart_power, draw_text,
     [](float value, const Painter&) {
       return power_text(Milliwatts(static_cast<std::uint64_t>(value)));
     },
     [](const Device& device, const Series* series) {
       return std::optional(highest_of(series, as_top(device.power_limit).value_or(50'000.0F)));
     }},
    {"temperature_celsius", as_key("temp"), Tone::chart_temperature, temperature_of,
     [](float value, const Painter& painter) {
       return heat_text(Celsius(static_cast<std::int64_t>(value)), painter.style,
                        painter.state.fahrenheit);
     },
     [](const Device&, const Series* series) { return std::optional(highest_of(series, 100)); }},
});
static_assert(has_all_drawn(Drawn::live, live_charts, &LiveChart::reading),
              "each reading that is drawn live has a chart, and no other has one");

/// A chart of what is seen here only; chosen one at a time.
struct SeenOnlyChart {
  std::string_view reading;
  std::string_view title;  // a key of the catalogue
  Tone tone;
  std::string (*value)(float);
  std::optional<float> top;  // nothing: the most that was seen
};
std::string percent_value(float value) { return percent_text(Percent(value)); }
constexpr auto seen_only_charts = std::to_array<SeenOnlyChart>({
    {"utilization_encoder_percent", as_key("encoder"), Tone::chart_utilization, percent_value,
     100.0F},
    {"utilization_decoder_percent", as_key("decoder"), Tone::chart_utilization, percent_value,
     100.0F},
    {"fan_speed_percent", as_key("fan"), Tone::chart_temperature, percent_value, 100.0F},
    {"clock_sm_megahertz", as_key("SM clock"), Tone::chart_power,
     [](float value) { return berth::clock_text(Megahertz(static_cast<std::uint64_t>(value))); },
     std::nullopt},
});
static_assert(std::ranges::equal(seen_only_charts, seen_only, {}, &SeenOnlyChart::reading));
static_assert(live_charts.size() + seen_only_charts.size() == chart_count);

Painter::Plot seen_only_plot(const Painter& painter, const Device& device, std::size_t which) {
  const SeenOnlyChart& chart = seen_only_charts.at(which);
  const DeviceHistory* history = painter.history.device(device.id);
  const auto now = seen_now(chart.reading, device);
  const Series* series = history != nullptr && now ? &history->of(chart.reading) : nullptr;
  const float top = chart.top.value_or(highest_of(series, 1));
  return {std::string(tr(chart.title)),
          now ? chart.value(*now) : std::string(absent_mark(painter.style)),
          series,
          top,
          chart.tone,
          series != nullptr ? chart.value(top) : std::string()};
}

std::vector<Painter::Plot> plots_of(const Painter& painter, const Device& device) {
  const DeviceHistory* history = painter.history.device(device.id);
  std::vector<Painter::Plot> plots;
  for (const LiveChart& chart : live_charts) {
    const Series* series = history == nullptr ? nullptr : &history->of(chart.reading);
    const auto top = chart.top(device, series);
    const bool has_axis = painter.state.charted > 0 && top;
    plots.push_back({std::string(tr(chart.title)), chart.text(device, painter),
                     top ? series : nullptr, top.value_or(1), chart.tone,
                     has_axis ? chart.value(*top, painter) : std::string()});
  }
  return plots;
}

/// A device's charts side by side, or the chosen one. There are fewer where they would be too
/// narrow to read.
void draw_strip(const Painter& painter, const Device& device, int column, int row, int width,
                int height) {
  painter.cell(column, row, short_name(device), 4, Align::right, Tone::bold);
  constexpr int label = 5;
  constexpr int narrowest = 14;
  std::vector<Painter::Plot> plots = plots_of(painter, device);
  if (const int chosen = painter.state.charted; chosen > 0) {
    const auto which = static_cast<std::size_t>(std::min(chosen, chart_count) - 1);
    plots = {which < live_charts.size()
                 ? plots[which]
                 : seen_only_plot(painter, device, which - live_charts.size())};
  }
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
  for (int i = 0; layout.heads_row && i < layout.meter_columns; ++i) {
    draw_meter_heads(painter, i * width, *layout.heads_row, width);
  }
  for (int i = 0; i < layout.meter_rows * layout.meter_columns; ++i) {
    const auto place = static_cast<std::size_t>(layout.first_meter + i);
    if (place >= devices.size()) break;
    draw_meter(painter, *devices[place], (i / layout.meter_rows) * width,
               layout.meters_row + i % layout.meter_rows, width, place == painter.state.focus);
  }
  if (!layout.more_row) return;
  const auto shown = static_cast<std::size_t>(layout.meter_rows * layout.meter_columns);
  painter.say(5, *layout.more_row,
              trf("{} more devices (Left, Right, Tab)", devices.size() - shown), Tone::dim);
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
