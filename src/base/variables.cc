#include "base/variables.h"

namespace berth {

namespace {
bool sets(std::string_view entry, std::string_view name) {
  return entry.starts_with(name) && entry.substr(name.size()).starts_with('=');
}
}  // namespace

std::optional<std::string> value_of(const std::vector<std::string>& environment,
                                    std::string_view name) {
  for (const std::string& entry : environment) {
    if (sets(entry, name)) return entry.substr(name.size() + 1);
  }
  return std::nullopt;
}

std::vector<std::string> with_variables(std::vector<std::string> environment,
                                        const std::vector<Variable>& variables) {
  for (const auto& [name, value] : variables) {
    std::erase_if(environment, [&](const std::string& entry) { return sets(entry, name); });
    environment.push_back(name + "=" + value);
  }
  return environment;
}

}  // namespace berth
