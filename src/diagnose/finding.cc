#include "diagnose/finding.h"

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

}  // namespace berth
