#pragma once
// Numbers for people. The only place that says MiB, GiB, W or °C. What is absent prints as "–".

#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/reading.h"
#include "base/units.h"
#include "view/style.h"

namespace berth {

struct Device;

/// "927 MiB", "12.3 GiB", "80.0 GiB": three digits that matter.
[[nodiscard]] std::string bytes_text(Bytes bytes);
/// The same in the unit that `largest` has, for what stands in one row: "0.49 GiB".
[[nodiscard]] std::string bytes_beside(Bytes bytes, Bytes largest);
/// The same in few columns, for tables: "927M", "12.3G".
[[nodiscard]] std::string bytes_short(Bytes bytes);
/// "12.3/80.0G": both in the unit of the second.
[[nodiscard]] std::string bytes_of_total(Bytes used, Bytes total);
/// "350 W"; below 10 W with one decimal.
[[nodiscard]] std::string power_text(Milliwatts power);
/// "1.2 kWh", "350 Wh", "4.1 kJ".
[[nodiscard]] std::string energy_text(Millijoules energy);
[[nodiscard]] std::string energy_beside(Millijoules energy, Millijoules largest);
/// "65°C"; "65C" in ASCII.
[[nodiscard]] std::string temperature_text(Celsius temperature, const Style& style);
[[nodiscard]] std::string percent_text(Percent percent);
[[nodiscard]] std::string clock_text(Megahertz clock);
/// Generation and width of the link: "5x16".
[[nodiscard]] std::string pcie_text(const Device& device, const Style& style);

/// "–"; "-" in ASCII.
[[nodiscard]] std::string_view absent_mark(const Style& style);
/// "≥" before a lower bound; ">=" in ASCII.
[[nodiscard]] std::string_view bound_mark(const Style& style);
/// The reason in words for people (translated): "not supported by this device".
[[nodiscard]] std::string_view reason_text(Absent why);

/// Figures that a simulated server gave: the whole sentence, and the word beside a figure. The word
/// has a blank before it.
[[nodiscard]] std::string_view invented_figures_text();
[[nodiscard]] std::string_view invented_mark();

/// A reading through one of the functions above, or the mark of absence.
template <class T, class Text>
[[nodiscard]] std::string reading_text(const Reading<T>& reading, const Style& style, Text text) {
  if (!reading.get()) return std::string(absent_mark(style));
  return std::string(text(*reading.get()));
}

/// "2026-11-21 10:02:03", in the style's local time.
[[nodiscard]] std::string date_time_text(WallTime time, const Style& style);
/// "10:02" on the day of `now`, else "11-20 10:02", in another year "2025-11-20".
[[nodiscard]] std::string since_text(WallTime time, WallTime now, const Style& style);
/// "2h03m"; never below 0 where clocks disagree.
[[nodiscard]] std::string age_text(WallTime since, WallTime now);

/// A bar of exactly `columns`, `share` (0 to 1) of it filled: "████▌···" or "####....".
[[nodiscard]] std::string bar(double share, int columns, const Style& style);

/// Values over time in exactly as many columns as fit: "▁▂▅█▇" or "_.-=#". Missing ones are
/// blank. `top` is the value of a full column.
[[nodiscard]] std::string sparkline(const std::vector<Reading<double>>& values, double top,
                                    int columns, const Style& style);

}  // namespace berth
