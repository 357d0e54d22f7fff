#include "host_environment/host_facts.h"

#include <algorithm>

#include "base/text.h"

namespace berth {

namespace {
/// The digits at the beginning, taken off the text.
std::optional<int> take_number(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && end < 6 && text[end] >= '0' && text[end] <= '9') ++end;
  const auto number = parse_unsigned(text.substr(0, end));
  text.remove_prefix(end);
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}
}  // namespace

std::optional<TwoPart> two_part(std::string_view text) {
  const auto major = take_number(text);
  if (!major) return std::nullopt;
  if (text.empty() || text[0] != '.') return TwoPart{*major, 0};
  text.remove_prefix(1);
  return TwoPart{*major, take_number(text).value_or(0)};
}

bool is_older_version(std::string_view a, std::string_view b) {
  const auto left = split(a, '.');
  const auto right = split(b, '.');
  for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    std::string_view x = i < left.size() ? left[i] : "0";
    std::string_view y = i < right.size() ? right[i] : "0";
    const int difference = take_number(x).value_or(0) - take_number(y).value_or(0);
    if (difference != 0) return difference < 0;
  }
  return false;
}

bool PythonEnvironment::is_known() const {
  if (answer.end == InterpreterEnd::not_asked) return version.has_value() || !folders.empty();
  return answer.end == InterpreterEnd::answered;
}

const FrameworkBuild* PythonEnvironment::framework(std::string_view name) const {
  const auto at = std::ranges::find(frameworks, name, &FrameworkBuild::name);
  return at == frameworks.end() ? nullptr : &*at;
}

const FrameworkSaid* PythonEnvironment::said_of(std::string_view name) const {
  const auto at = std::ranges::find(said.frameworks, name, &FrameworkSaid::name);
  return at == said.frameworks.end() ? nullptr : &*at;
}

std::optional<std::string> HostFacts::variable(std::string_view name) const {
  const auto at = std::ranges::find(variables, name, &Variable::first);
  return at == variables.end() ? std::nullopt : std::optional(at->second);
}

}  // namespace berth
