#include "top/theme.h"

#include <array>
#include <cstddef>

namespace berth::top {

namespace {

constexpr std::array<std::string_view, 4> names = {"dark", "light", "colour-blind", "mono"};

struct ThemeRow {
  Tone tone;
  std::array<std::string_view, 4> colours;  // in the order of Theme
};

// Light: no yellow, cyan or white, which vanish on a white ground.
constexpr auto table = std::to_array<ThemeRow>({
    {Tone::plain, {"", "", "", ""}},
    {Tone::dim, {"90", "90", "90", "2"}},
    {Tone::bold, {"1", "1", "1", "1"}},
    {Tone::title, {"1;36", "1;34", "1;96", "1"}},
    {Tone::header, {"7", "7", "7", "7"}},
    {Tone::selected, {"1;30;46", "1;37;44", "1;30;103", "1;7"}},
    {Tone::marked, {"1;33", "1;35", "1;93", "1;4"}},
    {Tone::low, {"32", "32", "94", ""}},
    {Tone::middle, {"33", "34", "97", ""}},
    {Tone::high, {"31", "31", "1;93", "1"}},
    {Tone::good, {"32", "32", "94", ""}},
    {Tone::warning, {"33", "35", "93", "1"}},
    {Tone::bad, {"1;31", "1;31", "1;30;103", "1;7"}},
    {Tone::key, {"1;36", "1;34", "1;96", "1"}},
    {Tone::chart_utilization, {"32", "32", "94", ""}},
    {Tone::chart_memory, {"36", "34", "96", ""}},
    {Tone::chart_power, {"33", "35", "93", ""}},
    {Tone::chart_temperature, {"35", "31", "97", ""}},
});

}  // namespace

std::string_view name_of(Theme theme) { return names.at(static_cast<std::size_t>(theme)); }

std::optional<Theme> theme_from_name(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Theme>(i);
  }
  return std::nullopt;
}

std::string_view colours_of(Tone tone, Theme theme) {
  // Rows stand in the order of Tone; a test holds them to it.
  return table.at(static_cast<std::size_t>(tone)).colours.at(static_cast<std::size_t>(theme));
}

}  // namespace berth::top
