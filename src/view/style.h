#pragma once
// Style: what a renderer needs to know of the screen. app/ finds it out (terminal, locale,
// NO_COLOR) and hands it down. Nothing in view/ prints or reads the environment, so every picture
// is a function of its arguments. The language is the process's (base/tr.h).

#include <chrono>

#include "base/clock.h"

namespace berth {

struct Style {
  /// Columns. No line of a table is wider; what does not fit is cut with "…".
  int width = 80;
  bool colour = false;
  /// False: ASCII alone (bars, dashes, ellipses) for everything that berth itself draws.
  bool utf8 = true;
  /// How far local time is ahead of UTC at that moment: it changes over a year.
  std::chrono::seconds (*offset_at)(WallTime when) = [](WallTime) {
    return std::chrono::seconds(0);
  };
};

/// How to draw what is kept in a file: without colour, and as wide as it is.
[[nodiscard]] inline Style for_a_file(Style style) {
  style.colour = false;
  style.width = 100;
  return style;
}

}  // namespace berth
