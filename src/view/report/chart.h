#pragma once
// Chart: what one picture of a report shows, chosen from its model; svg.cc draws it.

#include <cstdint>
#include <string>
#include <vector>

#include "view/report/model.h"

namespace berth {

struct ChartLine {
  std::string name;  // "GPU 0", "A"
  /// Which colour and which dashes: the same look is the same device or run in every chart.
  std::size_t look = 0;
  const Track* track = nullptr;  // of the report, which outlives this
};

/// A level across: a promise, a limit. In the chart's unit.
struct ChartLevel {
  double value = 0;
  std::string name;
};

struct ChartMark {
  std::int64_t at_ms = 0;
  int number = 0;  // as in the table of marks; 0: none
  std::string text;
};

struct ChartPhase {
  std::int64_t from_ms = 0;
  std::int64_t to_ms = 0;
  std::string name;
  std::size_t look = 0;
};

struct Chart {
  std::string name;     // a word for programs and ids: "memory"
  std::string title;    // translated
  std::string unit;     // "GiB", "W"; empty: a number
  double per_unit = 1;  // what a track's value is divided by
  double bottom = 0;    // of the axis, in the unit
  double top = 1;
  double step = 0.25;        // between the lines of its grid
  bool logarithmic = false;  // bottom, top and step are then powers of ten
  std::int64_t length_ms = 0;
  std::vector<ChartLine> lines;  // those with something to draw
  std::vector<ChartLevel> levels;
  std::vector<ChartMark> marks;
  std::vector<ChartMark> events;
  std::vector<ChartPhase> phases;
};

struct Charts {
  std::vector<Chart> drawn;
  /// What there is nothing to draw of, and why, translated: "PCIe: not supported by this device".
  std::vector<std::string> not_drawn;
};
/// For one run: a line per device. For several: a line per run, of all its devices together.
[[nodiscard]] Charts charts_of(const Report& report);

/// 1, 2, 2.5 or 5 times a power of ten: `range` in about `parts` steps.
[[nodiscard]] double round_step(double range, int parts);

/// Three digits that matter, never as a power of ten: "0.123", "98.6", "1400".
[[nodiscard]] std::string three_digits(double value);

/// The letter that a run has in a comparison: A, B, …
[[nodiscard]] std::string run_letter(std::size_t run);

/// The places of things in the picture, for the writer and for its test.
struct ChartFrame {
  static constexpr double width = 440;
  static constexpr double height = 190;
  static constexpr double left = 46;
  static constexpr double right = 430;
  static constexpr double top = 16;
  static constexpr double bottom = 164;
};

/// The picture as an <svg> element with its title and description; `id` is unique in the page.
[[nodiscard]] std::string chart_svg(const Chart& chart, const std::string& id);
/// A short line as it is drawn, for a legend.
[[nodiscard]] std::string line_sample_svg(std::size_t look);

}  // namespace berth
