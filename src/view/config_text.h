#pragma once
// What is configured, for people and for programs.

#include <string>

#include "config/config.h"
#include "view/style.h"

namespace berth {

/// What stands behind each value: its meaning, or its origin with the files that were looked for.
enum class ConfigDetail { values, origins };

[[nodiscard]] std::string render_config(const Config& config, ConfigDetail detail,
                                        const Style& style);
[[nodiscard]] std::string config_json(const Config& config);

}  // namespace berth
