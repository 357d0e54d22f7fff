#pragma once
// What `berth top` remembers from one time to the next, as the text of its file: lines of
// "name = value". What is not understood is as if it were not there. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "top/model.h"

namespace berth::top {

/// Nothing: as it is by itself.
struct Settings {
  std::optional<Theme> theme;
  std::optional<std::vector<SortLevel>> sort;
  std::optional<bool> tree;
  std::optional<bool> charts;
  std::optional<int> charted;
  std::optional<int> zoom;
  std::optional<bool> fahrenheit;
  std::optional<std::int64_t> interval_ms;
  friend bool operator==(const Settings&, const Settings&) = default;
};

[[nodiscard]] Settings settings_from(std::string_view text);
[[nodiscard]] std::string text_of(const Settings& settings);

void apply(const Settings& settings, State& state);
/// With what was changed between the two: an option that was typed once is not remembered.
[[nodiscard]] Settings with_changes(Settings settings, const State& before, const State& after);

/// "memory" as it is sorted by itself, "-memory" the other way round; nothing: no such column.
[[nodiscard]] std::optional<std::vector<SortLevel>> sort_from(std::string_view names);

}  // namespace berth::top
