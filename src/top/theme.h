#pragma once
// What a cell means (its tone), and how each theme says it. A theme is a table of SGR parameters of
// the sixteen colours that every terminal lets its user choose.

#include <cstdint>
#include <optional>
#include <string_view>

namespace berth::top {

enum class Tone : std::uint8_t {
  plain,
  dim,
  bold,
  title,
  header,
  selected,
  marked,
  low,     // of a meter: little used
  middle,  // in use
  high,    // full, hot
  good,
  warning,
  bad,
  key,  // a key to press
  chart_utilization,
  chart_memory,
  chart_power,
  chart_temperature,
};

/// `colour_blind`: what is good or bad differs in brightness and blue against yellow, never in red
/// against green alone. `mono`: no colour at all (NO_COLOR), only bold, dim and reverse.
enum class Theme : std::uint8_t { dark, light, colour_blind, mono };

[[nodiscard]] std::string_view name_of(Theme theme);
[[nodiscard]] std::optional<Theme> theme_from_name(std::string_view name);

/// Parameters of SGR ("1;36"); empty: none.
[[nodiscard]] std::string_view colours_of(Tone tone, Theme theme);

}  // namespace berth::top
