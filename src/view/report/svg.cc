// A chart as SVG: grid, phases, marks, levels, lines.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/tr.h"
#include "view/report/chart.h"
#include "view/report/markup.h"

namespace berth {

namespace {

using Frame = ChartFrame;
constexpr std::size_t looks = 8;
// More lines than that have no shade of their own: it would be one grey.
constexpr std::size_t most_shades = 3;

/// From values and times to positions in the picture.
class ChartScale {
 public:
  explicit ChartScale(const Chart& chart) : chart_(chart) {}
  [[nodiscard]] double x(std::int64_t at_ms) const {
    if (chart_.length_ms <= 0) return Frame::left;
    const double share = static_cast<double>(at_ms) / static_cast<double>(chart_.length_ms);
    return Frame::left + std::clamp(share, 0.0, 1.0) * (Frame::right - Frame::left);
  }
  /// For a value in the chart's unit.
  [[nodiscard]] double y(double value) const {
    return y_on_axis(chart_.logarithmic ? std::log10(value) : value);
  }
  /// For a value as the axis counts.
  [[nodiscard]] double y_on_axis(double value) const {
    const double share = (value - chart_.bottom) / (chart_.top - chart_.bottom);
    return Frame::bottom - std::clamp(share, 0.0, 1.0) * (Frame::bottom - Frame::top);
  }
  [[nodiscard]] double y_of_track(double value) const { return y(value / chart_.per_unit); }

 private:
  const Chart& chart_;
};

std::string number_text(double value, double step) {
  if (std::abs(value) < step * 1e-6) return "0";
  if (std::abs(value) >= 1e6) return fmt::format("{:.3g}", value);
  const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 6);
  // A step of 2.5 needs one digit more than its power of ten says.
  const double scaled = step * std::pow(10, decimals);
  const bool half = std::abs(scaled - std::round(scaled)) > 1e-6;
  return fmt::format("{:.{}f}", value, half ? decimals + 1 : decimals);
}

/// Between two times on the axis: what a clock shows.
std::int64_t time_step(std::int64_t length_ms) {
  constexpr std::int64_t second = 1000;
  constexpr std::int64_t minute = 60 * second;
  constexpr std::int64_t hour = 60 * minute;
  constexpr std::int64_t day = 24 * hour;
  constexpr std::int64_t steps[] = {second / 5,  second,      2 * second,  5 * second, 10 * second,
                                    20 * second, 30 * second, minute,      2 * minute, 5 * minute,
                                    10 * minute, 20 * minute, 30 * minute, hour,       2 * hour,
                                    4 * hour,    6 * hour,    12 * hour,   day,        2 * day,
                                    7 * day,     14 * day,    30 * day,    90 * day,   365 * day};
  for (const std::int64_t step : steps) {
    if (length_ms <= step * 6) return step;
  }
  return std::max<std::int64_t>(length_ms / 4, 1);
}

std::string time_text(std::int64_t at_ms) {
  if (at_ms == 0) return "0";
  if (at_ms < 1000) return fmt::format("{:.1f}s", static_cast<double>(at_ms) / 1000);
  std::string text = short_duration(std::chrono::milliseconds(at_ms));
  for (const std::string_view zero : {"00m", "00s", "00h"}) {
    if (text.size() > zero.size() + 1 && text.ends_with(zero)) text.resize(text.size() - 3);
  }
  return text;
}

std::string grid_svg(const Chart& chart, const ChartScale& scale) {
  std::string svg = "<g class=\"grid\">";
  for (int i = 0; i < 20; ++i) {
    const double value = chart.bottom + i * chart.step;
    if (value > chart.top + chart.step * 1e-6) break;
    const double y = scale.y_on_axis(value);
    svg += fmt::format("<path d=\"M{} {:.1f}H{}\"/>", Frame::left, y, Frame::right);
    svg +=
        fmt::format("<text class=\"end\" x=\"{}\" y=\"{:.1f}\">{}</text>", Frame::left - 5, y + 3.5,
                    chart.logarithmic ? fmt::format("{:g}", std::pow(10, value))
                                      : number_text(value, chart.step));
  }
  const std::int64_t step = time_step(chart.length_ms);
  for (std::int64_t at = 0; at <= chart.length_ms; at += step) {
    const double x = scale.x(at);
    // The last one is not cut off at the edge.
    const bool at_edge = x > Frame::right - 14;
    svg += fmt::format(
        "<path d=\"M{0:.1f} {1}V{2}\"/><text class=\"{3}\" x=\"{0:.1f}\" y=\"{4}\">{5}</text>", x,
        Frame::bottom, Frame::bottom + 4, at_edge ? "end" : "middle", Frame::bottom + 16,
        time_text(at));
  }
  return svg + "</g>";
}

std::string phases_svg(const Chart& chart, const ChartScale& scale) {
  std::string svg;
  for (const ChartPhase& phase : chart.phases) {
    const double from = scale.x(phase.from_ms);
    svg += fmt::format(
        "<rect class=\"phase p{}\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" "
        "height=\"{}\"><title>{}</title></rect>",
        phase.look % 6, from, Frame::top, std::max(scale.x(phase.to_ms) - from, 0.0),
        Frame::bottom - Frame::top, html_escaped(phase.name));
  }
  return svg;
}

std::string times_svg(const std::vector<ChartMark>& marks, std::string_view kind,
                      const ChartScale& scale) {
  constexpr double room_of_a_number = 13;
  constexpr double room_of_a_line = 3;  // nearer ones would be a grey surface; the table has all
  std::string svg;
  double last_number = -room_of_a_number;
  double last_line = -room_of_a_line;
  for (const ChartMark& mark : marks) {
    const double x = scale.x(mark.at_ms);
    if (x >= last_line && x - last_line < room_of_a_line) continue;
    last_line = x;
    svg += fmt::format("<g class=\"{}\"><path d=\"M{:.1f} {}V{}\"/>", kind, x, Frame::top,
                       Frame::bottom);
    if (mark.number > 0 && x - last_number >= room_of_a_number) {
      svg += fmt::format("<text class=\"middle\" x=\"{:.1f}\" y=\"{}\">{}</text>", x,
                         Frame::top - 4, mark.number);
      last_number = x;
    }
    svg += "<title>" + html_escaped(mark.text) + "</title></g>";
  }
  return svg;
}

std::string levels_svg(const Chart& chart, const ChartScale& scale) {
  std::string svg;
  for (const ChartLevel& level : chart.levels) {
    const double y = scale.y(level.value);
    // Below the line where there is no room above it.
    const double text_y = y < Frame::top + 12 ? y + 11 : y - 4;
    svg += fmt::format(
        "<g class=\"level\"><path d=\"M{} {:.1f}H{}\"/><text class=\"end\" x=\"{}\" "
        "y=\"{:.1f}\">{}</text></g>",
        Frame::left, y, Frame::right, Frame::right - 4, text_y, html_escaped(level.name));
  }
  return svg;
}

/// Least to most of each column, where a column holds more than one value.
std::string shade_svg(const std::vector<Track::Point>& points, std::size_t look,
                      const ChartScale& scale) {
  std::string path;
  std::size_t from = 0;
  while (from < points.size()) {
    std::size_t to = from + 1;
    while (to < points.size() && !points[to].begins) ++to;
    std::string back;
    bool has_height = false;
    for (std::size_t i = from; i < to; ++i) {
      const Track::Point& point = points[i];
      const double high = scale.y_of_track(point.most);
      const double low = scale.y_of_track(point.least);
      has_height = has_height || low - high >= 1;
      path += fmt::format("{}{:.1f} {:.1f}", i == from ? "M" : "L", scale.x(point.at_ms), high);
      back = fmt::format("L{:.1f} {:.1f}", scale.x(point.at_ms), low) + back;
    }
    path += back + "Z";
    if (!has_height) path.resize(path.rfind('M'));
    from = to;
  }
  if (path.empty()) return "";
  return fmt::format("<path class=\"shade c{}\" d=\"{}\"/>", look % looks, path);
}

std::string line_svg(const std::vector<Track::Point>& points, const ChartLine& line,
                     const ChartScale& scale) {
  std::string path;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double x = scale.x(points[i].at_ms);
    const double y = scale.y_of_track(points[i].mean);
    const bool begins = i == 0 || points[i].begins;
    path += fmt::format("{}{:.1f} {:.1f}", begins ? "M" : "L", x, y);
    const bool alone = begins && (i + 1 == points.size() || points[i + 1].begins);
    if (alone) path += "h.1";  // a dot, by the line's round ends
  }
  return fmt::format("<path class=\"line c{0} d{0}\" d=\"{1}\"/>", line.look % looks, path);
}

std::string described(const Chart& chart) {
  const auto value = [&](const std::optional<double>& one) {
    return three_digits(one.value_or(0) / chart.per_unit);
  };
  const auto extent = [&](const ChartLine& line) {
    return (line.name.empty() ? "" : line.name + ": ") +
           trf("from {} to {}", value(line.track->least()), value(line.track->most()));
  };
  return joined(chart.lines, "; ", extent) + (chart.unit.empty() ? "" : " " + chart.unit);
}

}  // namespace

std::string chart_svg(const Chart& chart, const std::string& id) {
  const ChartScale scale(chart);
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" role=\"img\" aria-labelledby=\"{2}-t {2}-d\">"
      "<title id=\"{2}-t\">{3}</title><desc id=\"{2}-d\">{4}</desc>",
      Frame::width, Frame::height, id, html_escaped(chart.title), html_escaped(described(chart)));
  svg += phases_svg(chart, scale) + grid_svg(chart, scale);
  svg += times_svg(chart.marks, "mark", scale) + times_svg(chart.events, "event", scale);
  svg += levels_svg(chart, scale);
  for (const ChartLine& line : chart.lines) {
    const auto points = line.track->points();
    if (chart.lines.size() <= most_shades) svg += shade_svg(points, line.look, scale);
    svg += line_svg(points, line, scale);
  }
  return svg + "</svg>\n";
}

std::string line_sample_svg(std::size_t look) {
  return fmt::format(
      "<svg class=\"sample\" viewBox=\"0 0 34 8\" aria-hidden=\"true\"><path class=\"line c{0} "
      "d{0}\" d=\"M1 4H33\"/></svg>",
      look % looks);
}

}  // namespace berth
