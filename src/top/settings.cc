#include "top/settings.h"

#include <algorithm>

#include "base/text.h"
#include "top/layout.h"
#include "top/theme.h"

namespace berth::top {

namespace {

constexpr std::uint64_t version = 1;
constexpr std::int64_t shortest_ms = 100;
constexpr std::int64_t longest_ms = 3'600'000;

std::optional<bool> flag_from(std::string_view value) {
  if (value == "true") return true;
  return value == "false" ? std::optional(false) : std::nullopt;
}

std::optional<std::int64_t> number_from(std::string_view value, std::int64_t least,
                                        std::int64_t most) {
  const auto number = parse_unsigned(value);
  if (!number || *number > static_cast<std::uint64_t>(most)) return std::nullopt;
  const auto whole = static_cast<std::int64_t>(*number);
  return whole >= least ? std::optional(whole) : std::nullopt;
}

std::optional<int> small_from(std::string_view value, int most) {
  const auto number = number_from(value, 0, most);
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

void take(Settings& settings, std::string_view name, std::string_view value) {
  if (name == "theme") settings.theme = theme_from_name(value);
  if (name == "sort") settings.sort = sort_from(value);
  if (name == "tree") settings.tree = flag_from(value);
  if (name == "charts") settings.charts = flag_from(value);
  if (name == "charted") settings.charted = small_from(value, chart_count);
  if (name == "zoom") settings.zoom = small_from(value, 3);
  if (name == "fahrenheit") settings.fahrenheit = flag_from(value);
  if (name == "interval_ms") settings.interval_ms = number_from(value, shortest_ms, longest_ms);
}

std::int64_t in_ms(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

}  // namespace

std::optional<std::vector<SortLevel>> sort_from(std::string_view names) {
  std::vector<SortLevel> levels;
  for (std::string_view name : split(names, ',')) {
    name = trimmed(name);
    const bool turned = name.starts_with('-');
    if (turned) name.remove_prefix(1);
    const auto found = std::ranges::find(sortings(), name, &Sorting::name);
    if (found == sortings().end()) return std::nullopt;
    const auto key = static_cast<SortKey>(found - sortings().begin());
    if (std::ranges::find(levels, key, &SortLevel::key) != levels.end()) return std::nullopt;
    levels.push_back({key, found->descending_first != turned});
  }
  if (levels.size() > most_sort_levels) return std::nullopt;
  return levels.empty() ? std::nullopt : std::optional(std::move(levels));
}

Settings settings_from(std::string_view text) {
  Settings settings;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (line.starts_with('#') || equals == std::string_view::npos) continue;
    const std::string_view name = trimmed(line.substr(0, equals));
    const std::string_view value = trimmed(line.substr(equals + 1));
    // A newer berth's: what its words mean is not known here.
    if (name == "version" && parse_unsigned(value).value_or(version) > version) return {};
    take(settings, name, value);
  }
  return settings;
}

std::string text_of(const Settings& settings) {
  std::string text = "# What berth top remembers. It writes this file itself.\n";
  const auto add = [&](std::string_view name, std::string_view value) {
    text.append(name).append(" = ").append(value).append("\n");
  };
  const auto add_flag = [&](std::string_view name, std::optional<bool> flag) {
    if (flag) add(name, *flag ? "true" : "false");
  };
  add("version", std::to_string(version));
  if (settings.theme) add("theme", name_of(*settings.theme));
  if (settings.sort) {
    add("sort", joined(*settings.sort, ",", [](const SortLevel& level) {
          const Sorting& by = sorting_by(level.key);
          return (level.descending == by.descending_first ? "" : "-") + std::string(by.name);
        }));
  }
  add_flag("tree", settings.tree);
  add_flag("charts", settings.charts);
  if (settings.charted) add("charted", std::to_string(*settings.charted));
  if (settings.zoom) add("zoom", std::to_string(*settings.zoom));
  add_flag("fahrenheit", settings.fahrenheit);
  if (settings.interval_ms) add("interval_ms", std::to_string(*settings.interval_ms));
  return text;
}

void apply(const Settings& settings, State& state) {
  state.theme = settings.theme.value_or(state.theme);
  state.sort = settings.sort.value_or(state.sort);
  state.tree = settings.tree.value_or(state.tree);
  state.charts = settings.charts.value_or(state.charts);
  state.charted = settings.charted.value_or(state.charted);
  state.zoom = settings.zoom.value_or(state.zoom);
  state.fahrenheit = settings.fahrenheit.value_or(state.fahrenheit);
  if (settings.interval_ms) state.interval = std::chrono::milliseconds(*settings.interval_ms);
}

Settings with_changes(Settings settings, const State& before, const State& after) {
  if (before.theme != after.theme) settings.theme = after.theme;
  if (before.sort != after.sort) settings.sort = after.sort;
  if (before.tree != after.tree) settings.tree = after.tree;
  if (before.charts != after.charts) settings.charts = after.charts;
  if (before.charted != after.charted) settings.charted = after.charted;
  if (before.zoom != after.zoom) settings.zoom = after.zoom;
  if (before.fahrenheit != after.fahrenheit) settings.fahrenheit = after.fahrenheit;
  if (before.interval != after.interval) settings.interval_ms = in_ms(after.interval);
  return settings;
}

}  // namespace berth::top
