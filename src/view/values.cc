#include "view/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "base/text.h"
#include "base/tr.h"
#include "snapshot/device.h"

namespace berth {

namespace {

constexpr double kibi = 1024.0;

struct Scaled {
  double number;
  std::string_view unit;   // "GiB"
  std::string_view brief;  // "G"
};

Scaled scaled(std::uint64_t bytes) {
  constexpr std::array<Scaled, 5> units = {{{1, "B", "B"},
                                            {kibi, "KiB", "K"},
                                            {kibi * kibi, "MiB", "M"},
                                            {kibi * kibi * kibi, "GiB", "G"},
                                            {kibi * kibi * kibi * kibi, "TiB", "T"}}};
  const auto number = static_cast<double>(bytes);
  std::size_t i = 0;
  while (i + 1 < units.size() && number >= units[i + 1].number) ++i;
  return {number / units[i].number, units[i].unit, units[i].brief};
}

/// "12.3", "141": one decimal where it is one of three digits. Below GiB none matters.
std::string digits(const Scaled& value) {
  const bool small_unit = value.brief != "G" && value.brief != "T";
  if (small_unit || value.number >= 99.95) return fmt::format("{:.0f}", value.number);
  return fmt::format("{:.1f}", value.number);
}

/// A figure that is small in another's unit keeps its digits: "0.49", "0.0012". Else as it is.
std::string small_or(double number, std::string otherwise) {
  return number > 0 && number < 1 ? fmt::format("{:.2g}", number) : std::move(otherwise);
}

struct Calendar {
  std::chrono::year_month_day date{};
  std::chrono::hh_mm_ss<std::chrono::seconds> time;
};

Calendar calendar(WallTime time, const Style& style) {
  // Within what a calendar can say: a hostile file may hold any number.
  constexpr std::int64_t year_9999 = 253'402'300'799'000;
  const WallTime when{std::clamp<std::int64_t>(time.unix_ms, 0, year_9999)};
  const std::chrono::sys_seconds local(std::chrono::floor<std::chrono::seconds>(
      std::chrono::milliseconds(when.unix_ms) + style.offset_at(when)));
  const auto day = std::chrono::floor<std::chrono::days>(local);
  return {std::chrono::year_month_day(day), std::chrono::hh_mm_ss(local - day)};
}

std::string date_text(const std::chrono::year_month_day& date) {
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

double within_0_1(double share) { return std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0; }

}  // namespace

std::string bytes_text(Bytes bytes) {
  const Scaled value = scaled(bytes.count());
  return digits(value) + " " + std::string(value.unit);
}

std::string bytes_beside(Bytes bytes, Bytes largest) {
  const Scaled whole = scaled(largest.count());
  const double unit = largest.count() > 0 ? static_cast<double>(largest.count()) / whole.number : 1;
  const Scaled part{static_cast<double>(bytes.count()) / unit, whole.unit, whole.brief};
  return small_or(part.number, digits(part)) + " " + std::string(whole.unit);
}

std::string bytes_short(Bytes bytes) {
  const Scaled value = scaled(bytes.count());
  return digits(value) + std::string(value.brief);
}

std::string bytes_of_total(Bytes used, Bytes total) {
  const Scaled whole = scaled(total.count());
  double unit = 1;
  if (total.count() > 0) unit = static_cast<double>(total.count()) / whole.number;
  const Scaled part{static_cast<double>(used.count()) / unit, whole.unit, whole.brief};
  return digits(part) + "/" + digits(whole) + std::string(whole.brief);
}

std::string power_text(Milliwatts power) {
  const double watts = static_cast<double>(power.count()) / 1000.0;
  return watts < 9.95 ? fmt::format("{:.1f} W", watts) : fmt::format("{:.0f} W", watts);
}

std::string energy_text(Millijoules energy) { return energy_beside(energy, energy); }

std::string energy_beside(Millijoules energy, Millijoules largest) {
  const auto joules_of = [](Millijoules of) { return static_cast<double>(of.count()) / 1000.0; };
  const double most = joules_of(largest);
  const double joules = joules_of(energy);
  const double watt_hours = joules / 3600.0;
  if (most >= 3.6e6) {
    return small_or(watt_hours / 1000, fmt::format("{:.2f}", watt_hours / 1000)) + " kWh";
  }
  if (most >= 3600) {
    const std::string whole = fmt::format("{:.{}f}", watt_hours, watt_hours >= 9.95 ? 0 : 1);
    return small_or(watt_hours, whole) + " Wh";
  }
  if (most >= 1000) return small_or(joules / 1000, fmt::format("{:.1f}", joules / 1000)) + " kJ";
  return fmt::format("{:.0f} J", joules);
}

std::string temperature_text(Celsius temperature, const Style& style) {
  return fmt::format("{}{}", temperature.count(), style.utf8 ? "°C" : "C");
}

std::string percent_text(Percent percent) {
  return fmt::format("{:.0f}%", std::clamp(percent.count(), 0.0, 1e6));
}

std::string clock_text(Megahertz clock) { return fmt::format("{} MHz", clock.count()); }

std::string_view absent_mark(const Style& style) { return style.utf8 ? "–" : "-"; }

std::string_view bound_mark(const Style& style) { return style.utf8 ? "≥" : ">="; }

std::string_view reason_text(Absent why) { return tr(reason_of(why)); }

std::string_view invented_figures_text() {
  return tr("GPU figures are invented by the simulated server: nothing was measured.");
}

std::string pcie_text(const Device& device, const Style& style) {
  if (!device.pcie_generation.get() || !device.pcie_width.get()) {
    return std::string(absent_mark(style));
  }
  return fmt::format("{}x{}", *device.pcie_generation.get(), *device.pcie_width.get());
}

std::string_view invented_mark() { return tr(" (invented)"); }

std::string date_time_text(WallTime time, const Style& style) {
  const Calendar at = calendar(time, style);
  return fmt::format("{} {:02}:{:02}:{:02}", date_text(at.date), at.time.hours().count(),
                     at.time.minutes().count(), at.time.seconds().count());
}

std::string since_text(WallTime time, WallTime now, const Style& style) {
  const Calendar at = calendar(time, style);
  const Calendar today = calendar(now, style);
  if (at.date.year() != today.date.year()) return date_text(at.date);
  const std::string clock =
      fmt::format("{:02}:{:02}", at.time.hours().count(), at.time.minutes().count());
  if (at.date == today.date) return clock;
  return fmt::format("{:02}-{:02} {}", static_cast<unsigned>(at.date.month()),
                     static_cast<unsigned>(at.date.day()), clock);
}

std::string age_text(WallTime since, WallTime now) {
  if (since > now) return short_duration(std::chrono::milliseconds(0));
  // Unsigned: the difference of two hostile times may not fit.
  const std::uint64_t age =
      static_cast<std::uint64_t>(now.unix_ms) - static_cast<std::uint64_t>(since.unix_ms);
  constexpr std::uint64_t hundred_years = 3'155'760'000'000;
  return short_duration(std::chrono::milliseconds(std::min(age, hundred_years)));
}

std::string bar(double share, int columns, const Style& style) {
  if (columns <= 0) return {};
  constexpr std::array<std::string_view, 8> parts = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const std::string_view full = style.utf8 ? "█" : "#";
  const std::string_view empty = style.utf8 ? "·" : ".";
  const int steps = style.utf8 ? 8 : 1;
  const auto filled = static_cast<int>(std::lround(within_0_1(share) * columns * steps));
  std::string picture;
  picture.reserve(static_cast<std::size_t>(columns) * full.size());
  for (int left = filled / steps; left > 0; --left) picture += full;
  const auto part = static_cast<std::size_t>(filled % steps);
  picture += parts[part];
  for (int left = columns - filled / steps - (part > 0 ? 1 : 0); left > 0; --left) picture += empty;
  return picture;
}

std::string sparkline(const std::vector<Reading<double>>& values, double top, int columns,
                      const Style& style) {
  constexpr std::array<std::string_view, 8> blocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<std::string_view, 8> ascii = {"_", ".", ":", "-", "=", "+", "*", "#"};
  const std::size_t count = std::min(values.size(), static_cast<std::size_t>(std::max(columns, 0)));
  std::string picture;
  for (std::size_t column = 0; column < count; ++column) {
    const std::size_t first = column * values.size() / count;
    const std::size_t last = (column + 1) * values.size() / count;
    double sum = 0;
    int present = 0;
    for (std::size_t i = first; i < last; ++i) {
      if (!values[i].get()) continue;
      sum += *values[i].get();
      ++present;
    }
    if (present == 0) {
      picture += ' ';
      continue;
    }
    const double share = top > 0 ? within_0_1(sum / present / top) : 0;
    const auto level = static_cast<std::size_t>(std::lround(share * 7));
    picture += style.utf8 ? blocks[level] : ascii[level];
  }
  return picture;
}

}  // namespace berth
