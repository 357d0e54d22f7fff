#include "view/report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "base/tr.h"
#include "snapshot/device_name.h"
#include "view/values.h"

namespace berth {

namespace {

struct ByteUnit {
  double bytes;
  const char* size;
  const char* rate;
};
ByteUnit unit_for(double most) {
  constexpr ByteUnit units[] = {
      {1073741824.0, "GiB", "GiB/s"}, {1048576.0, "MiB", "MiB/s"}, {1024.0, "KiB", "KiB/s"}};
  for (const ByteUnit& unit : units) {
    if (most >= unit.bytes) return unit;
  }
  return {1, "B", "B/s"};
}

std::vector<ChartLine> lines_of(const Report& report, Curve quantity) {
  std::vector<ChartLine> lines;
  const auto add = [&](std::string name, std::size_t look, const Track& track) {
    if (!track.empty()) lines.push_back({std::move(name), look, &track});
  };
  if (report.runs.size() > 1) {
    for (std::size_t i = 0; i < report.runs.size(); ++i) {
      add(run_letter(i), i, report.runs[i].curves.whole(quantity));
    }
    return lines;
  }
  const ReportRun& run = report.runs.front();
  if (!is_of_device(quantity)) {
    add("", 0, run.curves.whole(quantity));
    return lines;
  }
  for (std::size_t i = 0; i < run.curves.devices(); ++i) {
    const std::string name = name_for_people(run.record.manifest.given.devices[i]);
    add(run.curves.devices() > 1 ? name : "", i, run.curves.of_device(i, quantity));
  }
  return lines;
}

/// The one value that all devices of all runs agree on; nothing where they differ.
template <class Value>
std::optional<double> agreed(const Report& report, Value value) {
  std::optional<double> common;
  for (const ReportRun& run : report.runs) {
    const auto& devices = run.record.manifest.given.devices;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const std::optional<double> one = value(run, i);
      // Sums of several devices have no limit of one.
      if (!one || (common && *common != *one)) return std::nullopt;
      if (report.runs.size() > 1 && devices.size() > 1) return std::nullopt;
      common = one;
    }
  }
  return common;
}

template <class T>
std::optional<double> count_of(const Reading<T>& reading) {
  if (!reading.get()) return std::nullopt;
  return static_cast<double>(reading.get()->count());
}

/// In the units of the tracks.
std::vector<ChartLevel> levels_of(const Report& report, Curve quantity) {
  std::vector<ChartLevel> levels;
  const auto add = [&](std::string_view name, auto value) {
    if (const auto level = agreed(report, value)) levels.push_back({*level, std::string(name)});
  };
  const auto device = [](const ReportRun& run, std::size_t i) -> const Device& {
    return run.record.manifest.given.devices[i];
  };
  if (quantity == Curve::memory) {
    add(tr("total"),
        [&](const ReportRun& run, std::size_t i) { return count_of(device(run, i).memory_total); });
    add(tr("promised"), [&](const ReportRun& run, std::size_t i) {
      const auto& promised = run.record.manifest.promised;
      return i < promised.size() && promised[i]
                 ? std::optional(static_cast<double>(promised[i]->count()))
                 : std::nullopt;
    });
  } else if (quantity == Curve::power) {
    add(tr("limit"), [&](const ReportRun& run, std::size_t i) {
      const auto limit = count_of(device(run, i).power_limit);
      return limit ? std::optional(*limit / 1000) : limit;
    });
  } else if (quantity == Curve::temperature) {
    add(tr("slows down"), [&](const ReportRun& run, std::size_t i) {
      return count_of(device(run, i).temperature_slowdown);
    });
  }
  return levels;
}

double most_of(const std::vector<ChartLine>& lines) {
  double most = 0;
  for (const ChartLine& line : lines) most = std::max(most, line.track->most().value_or(0));
  return most;
}

/// From nothing up to what is to be seen.
void set_axis_from_zero(Chart& chart, double most) {
  chart.bottom = 0;
  const double range = most > 0 ? most : 1;
  chart.step = round_step(range, 4);
  chart.top = std::ceil(range / chart.step - 1e-9) * chart.step;
}

/// Around the values: a loss is far from nothing for most of a run.
void set_axis_around(Chart& chart) {
  double least = chart.lines.front().track->least().value_or(0);
  double most = chart.lines.front().track->most().value_or(1);
  for (const ChartLine& line : chart.lines) {
    least = std::min(least, line.track->least().value_or(least));
    most = std::max(most, line.track->most().value_or(most));
  }
  if (least >= 0 && least < most * 0.5) least = 0;
  const double range = most - least > 0 ? most - least : std::max(std::abs(most), 1e-9);
  chart.step = round_step(range, 4);
  chart.bottom = std::floor(least / chart.step + 1e-9) * chart.step;
  chart.top = std::ceil(most / chart.step - 1e-9) * chart.step;
  if (chart.top <= chart.bottom) chart.top = chart.bottom + chart.step;
}

/// A loss that falls to a hundredth is a flat line for most of a run on an even axis.
bool asks_for_powers(const Chart& chart, std::string_view name) {
  if (small_letters(name).find("loss") == std::string::npos) return false;
  double least = chart.lines.front().track->least().value_or(0);
  double most = 0;
  for (const ChartLine& line : chart.lines) {
    least = std::min(least, line.track->least().value_or(least));
    most = std::max(most, line.track->most().value_or(most));
  }
  return least > 0 && std::isfinite(most) && most >= least * 100;
}

void set_axis_of_powers(Chart& chart) {
  chart.logarithmic = true;
  chart.bottom = HUGE_VAL;
  chart.top = -HUGE_VAL;
  for (const ChartLine& line : chart.lines) {
    chart.bottom = std::min(chart.bottom, std::floor(std::log10(*line.track->least()) + 1e-9));
    chart.top = std::max(chart.top, std::ceil(std::log10(*line.track->most()) - 1e-9));
  }
  chart.step = std::ceil((chart.top - chart.bottom) / 6);
}

/// Marks, events and phases of the one run; of several they would be one on the other.
void add_times(const Report& report, Chart& chart) {
  chart.length_ms = report.length_ms();
  if (report.runs.size() > 1) return;
  const ReportRun& run = report.runs.front();
  int number = 0;
  for (const ReportMark& mark : run.marks) chart.marks.push_back({mark.at_ms, ++number, mark.text});
  for (const ReportEvent& event : run.events) {
    chart.events.push_back({event.at_ms, 0, event.text.shown()});
  }
  std::vector<std::string> names;
  for (const ReportPhase& phase : run.phases) {
    const std::string name = phase.name.shown();
    auto found = std::ranges::find(names, name);
    if (found == names.end()) found = names.insert(names.end(), name);
    chart.phases.push_back(
        {phase.from_ms, phase.to_ms, name, static_cast<std::size_t>(found - names.begin())});
  }
}

Chart chart_of(const Report& report, const CurveRow& row, std::vector<ChartLine> lines) {
  Chart chart{.name = std::string(row.name),
              .title = std::string(tr(row.title)),
              .unit = std::string(row.unit),
              .lines = std::move(lines),
              .levels = levels_of(report, row.curve)};
  double most = most_of(chart.lines);
  for (const ChartLevel& level : chart.levels) most = std::max(most, level.value);
  if (row.curve == Curve::utilization) most = 100;
  if (row.scale != CurveScale::as_is) {
    // Reading and writing stand beside each other: in one unit they can be compared.
    double most_beside = most;
    for (const CurveRow& other : curve_rows) {
      if (row.scale != CurveScale::rate || other.scale != CurveScale::rate) continue;
      if (is_of_device(other.curve) != is_of_device(row.curve)) continue;
      most_beside = std::max(most_beside, most_of(lines_of(report, other.curve)));
    }
    const ByteUnit unit = unit_for(most_beside);
    chart.per_unit = unit.bytes;
    chart.unit = row.scale == CurveScale::bytes ? unit.size : unit.rate;
  }
  for (ChartLevel& level : chart.levels) level.value /= chart.per_unit;
  set_axis_from_zero(chart, most / chart.per_unit);
  add_times(report, chart);
  return chart;
}

/// A chart per number that marks say, in the order in which they came up.
void add_mark_charts(const Report& report, std::vector<Chart>& charts) {
  for (const std::string& name : report.mark_names()) {
    Chart chart{.name = "mark", .title = trf("Marked: {}", name)};
    for (std::size_t i = 0; i < report.runs.size(); ++i) {
      const auto& numbers = report.runs[i].numbers;
      const auto found = std::ranges::find(numbers, name, &MarkCurve::name);
      // One number is in the figures: a point is no curve.
      if (found == numbers.end() || found->track.count() < 2) continue;
      chart.lines.push_back({report.runs.size() > 1 ? run_letter(i) : "", i, &found->track});
    }
    if (chart.lines.empty()) continue;
    if (asks_for_powers(chart, name)) {
      set_axis_of_powers(chart);
      chart.title = trf("Marked: {} (logarithmic)", name);
    } else {
      set_axis_around(chart);
    }
    add_times(report, chart);
    charts.push_back(std::move(chart));
  }
}

/// Nothing where it is plain why: a run without a device has no utilisation of one.
std::optional<std::string> why_not_drawn(const Report& report, const CurveRow& row) {
  for (const ReportRun& run : report.runs) {
    if (is_of_device(row.curve) && run.curves.devices() == 0) continue;
    if (run.curves.samples() == 0) continue;
    const std::string_view why = run.curves.samples() < 2
                                     ? tr("there are too few samples")
                                     : reason_text(run.curves.why_absent(row.curve));
    return trf("{}: {}", tr(row.title), why);
  }
  return std::nullopt;
}

}  // namespace

double round_step(double range, int parts) {
  const double raw = range / parts;
  if (!(raw > 0) || !std::isfinite(raw)) return 1;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double times : {1.0, 2.0, 2.5, 5.0}) {
    if (raw <= times * power * (1 + 1e-9)) return times * power;
  }
  return 10 * power;
}

std::string three_digits(double value) {
  return std::abs(value) >= 999.5 && std::abs(value) < 1e12 ? fmt::format("{:.0f}", value)
                                                            : fmt::format("{:.3g}", value);
}

std::string run_letter(std::size_t run) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  return run < letters.size() ? std::string(1, letters[run]) : std::to_string(run + 1);
}

Charts charts_of(const Report& report) {
  Charts charts;
  for (const CurveRow& row : curve_rows) {
    auto lines = lines_of(report, row.curve);
    if (row.scale == CurveScale::rate && !lines.empty() && most_of(lines) <= 0) {
      charts.not_drawn.push_back(trf("{}: there was none", tr(row.title)));
    } else if (!lines.empty()) {
      charts.drawn.push_back(chart_of(report, row, std::move(lines)));
    } else if (auto why = why_not_drawn(report, row)) {
      charts.not_drawn.push_back(std::move(*why));
    }
  }
  add_mark_charts(report, charts.drawn);
  return charts;
}

}  // namespace berth
