#include "snapshot/finding.h"

#include <algorithm>

namespace berth {

void sort_by_severity(Findings& findings) {
  std::ranges::stable_sort(findings, std::ranges::greater{}, &Finding::severity);
}

std::optional<Severity> worst_of(const Findings& findings) {
  const auto worst = std::ranges::max_element(findings, {}, &Finding::severity);
  if (worst == findings.end()) return std::nullopt;
  return worst->severity;
}

std::vector<std::string_view> names_in(std::span<const Reported> reports) {
  constexpr std::string_view between = ", ";
  std::vector<std::string_view> names;
  for (const Reported& one : reports) {
    std::string_view rest = one.names != nullptr ? one.names : "";
    while (!rest.empty()) {
      const std::string_view name = rest.substr(0, rest.find(between));
      names.push_back(name);
      rest.remove_prefix(std::min(rest.size(), name.size() + between.size()));
    }
  }
  return names;
}

bool reports(std::span<const Reported> row, std::string_view name) {
  constexpr std::string_view any_word = "…";
  return std::ranges::any_of(names_in(row), [&](std::string_view one) {
    return one == name || (one.ends_with(any_word) &&
                           name.starts_with(one.substr(0, one.size() - any_word.size())));
  });
}

}  // namespace berth
