#pragma once
// An environment, as a list of NAME=value. Pure.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {

using Variable = std::pair<std::string, std::string>;

[[nodiscard]] std::optional<std::string> value_of(const std::vector<std::string>& environment,
                                                  std::string_view name);

/// `environment` with these set, each once; everything else as it was, in its order.
[[nodiscard]] std::vector<std::string> with_variables(std::vector<std::string> environment,
                                                      const std::vector<Variable>& variables);

}  // namespace berth
