#pragma once
// The scenarios that are part of the program (src/probe/sim/scenarios), so that everything can be
// tried where there is no GPU.

#include <optional>
#include <string_view>

namespace berth::sim {

/// The JSON of a built-in scenario; nothing: there is none of that name.
[[nodiscard]] std::optional<std::string_view> builtin_scenario(std::string_view name);

}  // namespace berth::sim
