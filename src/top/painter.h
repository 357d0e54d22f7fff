#pragma once
// What the parts of the picture share. For render*.cc alone.

#include <string>
#include <string_view>
#include <vector>

#include "top/chart.h"
#include "top/layout.h"
#include "top/render.h"

namespace berth::top {

struct Painter {
  Screen& screen;
  const State& state;
  const History& history;
  const Layout& layout;
  Style style;

  [[nodiscard]] Dots dots() const { return style.utf8 ? Dots::braille : Dots::ascii; }
  [[nodiscard]] std::size_t samples_each() const;
  /// Our own words, translated already: ASCII alone where the terminal has no more.
  int say(int column, int row, std::string_view text, Tone tone, int columns) const;
  int say(int column, int row, std::string_view text, Tone tone = Tone::plain) const {
    return say(column, row, text, tone, screen.size().columns);
  }
  /// In exactly so many columns, cut with an ellipsis.
  void cell(int column, int row, std::string_view text, int columns, Align align, Tone tone) const;
  /// A meter: `share` from 0 to 1.
  void meter(int column, int row, int columns, double share) const;
  /// "title value" above a chart of the series.
  struct Plot {
    std::string title;
    std::string value;
    const Series* series;  // null: nothing known
    float top;
    Tone tone;
    std::string edge = {};  // what `top` is, in words: with it the chart has an axis
  };
  void plot(int column, int row, int columns, int rows, const Plot& plot) const;
};

/// A line of a panel; its maker wraps long ones.
struct PanelLine {
  std::string text;
  Tone tone = Tone::plain;
};
/// A line of the panel for each of the text.
void add_lines(std::vector<PanelLine>& lines, std::string_view text, Tone tone = Tone::plain);
/// Sentences broken to the panel's width.
void add_wrapped(std::vector<PanelLine>& lines, std::string_view text, Tone tone, int indent,
                 const Painter& painter);

/// Stands in place of a command where a process has none to show. Says that the process has gone,
/// or why it cannot be seen, in the words of `berth ps`.
[[nodiscard]] std::string unknown_command(const UseRow& row, const Host& host);

[[nodiscard]] Tone tone_of_share(double share);
[[nodiscard]] std::string percent_of(const Reading<Percent>& reading, const Style& style);

void draw_title(const Painter& painter);
void draw_notice(const Painter& painter);
void draw_footer(const Painter& painter);
void draw_meters(const Painter& painter);
void draw_charts(const Painter& painter);
void draw_table(const Painter& painter);
void draw_panel(const Painter& painter);

/// Texts of the panels.
[[nodiscard]] std::vector<PanelLine> help_lines(const Painter& painter);
[[nodiscard]] std::vector<PanelLine> lease_lines(const Painter& painter);
[[nodiscard]] std::vector<PanelLine> problem_lines(const Painter& painter);
[[nodiscard]] std::vector<PanelLine> detail_lines(const Painter& painter);
[[nodiscard]] std::vector<PanelLine> device_lines(const Painter& painter);

}  // namespace berth::top
