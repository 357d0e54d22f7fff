#pragma once
// One value of a file in TOML that is another program's, without toml++'s headers.

#include <optional>
#include <string>
#include <string_view>

namespace berth {

/// As one would type it: "10G", "true", "/etc/cdi,/run/cdi". Nothing: it has no such key, or is no
/// TOML.
[[nodiscard]] std::optional<std::string> toml_value(std::string_view text, std::string_view key);

}  // namespace berth
