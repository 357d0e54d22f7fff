#include "diagnose/death/death.h"

#include <algorithm>
#include <array>

#include "diagnose/death/catalogue.h"
#include "diagnose/death/rules.h"

namespace berth {

namespace {

bool knows(const Findings& findings, const std::string& rule) {
  return std::ranges::find(findings, rule, &Finding::rule) != findings.end();
}

/// The job went on in spite of it.
bool is_remark(const Finding& finding) {
  const LogEntry* entry = log_entry(finding.rule);
  return entry != nullptr && entry->part == LogPart::remark;
}

/// What may have been beside it, and tells nothing of the signal that ended it.
bool is_no_cause(const Finding& finding) {
  return is_remark(finding) || finding.rule == "driver_reloaded";
}

}  // namespace

Findings explain_death(const DeathEvidence& evidence) {
  Findings findings;
  if (ended_well(evidence.run)) return findings;
  using Rule = Findings (*)(const DeathEvidence&);
  constexpr auto rules = std::to_array<Rule>({
      death_by_berth,
      death_by_device,
      death_by_device_reset,
      death_by_driver_reload,
      death_by_oom_killer,
      death_by_log,
      death_by_neighbour,
      death_perhaps_by_neighbour,
      death_by_signal,
      death_by_sibling_rank,
  });
  for (const Rule rule : rules) {
    // What only names the signal, and a guess, add nothing to a cause.
    const bool is_last_resort = rule == death_by_signal || rule == death_perhaps_by_neighbour;
    if (is_last_resort && !std::ranges::all_of(findings, is_no_cause)) continue;
    for (Finding& finding : rule(evidence)) {
      if (!knows(findings, finding.rule)) findings.push_back(std::move(finding));
    }
  }
  const bool is_told = std::ranges::any_of(findings, [](const Finding& finding) {
    return finding.severity == Severity::error || finding.rule == "time_limit" ||
           finding.rule == "stopped";
  });
  if (!is_told) {
    for (Finding& finding : death_without_record(evidence)) findings.push_back(std::move(finding));
    for (Finding& finding : death_without_cause(evidence)) findings.push_back(std::move(finding));
  }
  return findings;
}

std::optional<Finding> cause_to_tell(const Findings& findings) {
  const auto first = std::ranges::find(findings, Severity::error, &Finding::severity);
  if (first == findings.end()) return std::nullopt;
  return *first;
}

}  // namespace berth
