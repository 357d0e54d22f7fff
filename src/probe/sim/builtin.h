#pragma once
// The scenarios that are part of the program (src/probe/sim/scenarios), so that everything can be
// tried where there is no GPU.

#include <optional>
#include <string_view>

namespace berth::sim {

/// Of the built-in ones, what is shown where none is named.
inline constexpr std::string_view default_scenario = "server-8xh100";

/// The JSON of a built-in scenario; nothing: there is none of that name.
[[nodiscard]] std::optional<std::string_view> builtin_scenario(std::string_view name);

}  // namespace berth::sim
