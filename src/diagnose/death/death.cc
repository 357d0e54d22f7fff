#include "diagnose/death/death.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

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

/// Beside the matter, and worth knowing all the same.
Finding as_remark(Finding finding) {
  finding.severity = Severity::hint;
  finding.meaning = sentence("It was not that which ended the run.");
  finding.steps = {{sentence("see how the devices are now"), "berth health"}};
  return finding;
}

// tools/check_docs.py holds doc/EXPLAIN.md against this list.
constexpr auto cause_rule_names = std::to_array<std::string_view>({
    "time_limit",
    "stopped",
    "never_started",
    "device_lost",
    "device_failed",
    "device_error",
    "job_error_on_device",
    "device_reset",
    "driver_reloaded",
    "oom_killer",
    "neighbour_grew",
    "segmentation_fault",
    "bus_error",
    "cpu_illegal_instruction",
    "arithmetic_error",
    "aborted",
    "killed",
    "terminated",
    "interrupted",
    "terminal_closed",
    "reader_gone",
    "cpu_time_limit",
    "file_size_limit",
    "signal",
    "rank_ended_first",
    "end_unknown",
    "last_lines",
});

}  // namespace

Findings explain_death(const DeathEvidence& evidence) {
  Findings findings;
  if (ended_well(evidence.run)) return findings;
  if (was_never_started(evidence.run)) return ended_by_berth(evidence);
  using Rule = Findings (*)(const DeathEvidence&);
  constexpr auto rules = std::to_array<Rule>({
      ended_by_berth,
      device_fault,
      device_reset,
      driver_reloaded,
      oom_killer,
      known_error_text,
      neighbour_grew,
      perhaps_neighbour_grew,
      ended_by_signal,
      rank_ended_first,
  });
  const bool on_purpose = was_ended_on_purpose(evidence);
  Findings remarks;
  for (const Rule rule : rules) {
    const bool is_of_device = rule == device_fault || rule == device_reset;
    // What only names the signal, and a guess, add nothing to a cause.
    const bool is_last_resort = rule == ended_by_signal || rule == perhaps_neighbour_grew;
    if (is_last_resort && !std::ranges::all_of(findings, is_no_cause)) continue;
    for (Finding& finding : rule(evidence)) {
      if (on_purpose && is_of_device) {
        remarks.push_back(as_remark(std::move(finding)));
      } else if (!knows(findings, finding.rule)) {
        findings.push_back(std::move(finding));
      }
    }
  }
  const bool is_told = std::ranges::any_of(findings, [](const Finding& finding) {
    return finding.severity == Severity::error || finding.rule == "time_limit" ||
           finding.rule == "stopped";
  });
  if (!is_told) {
    for (Finding& finding : end_unknown(evidence)) findings.push_back(std::move(finding));
    for (Finding& finding : last_lines(evidence)) findings.push_back(std::move(finding));
  }
  std::ranges::move(remarks, std::back_inserter(findings));
  return findings;
}

std::optional<Finding> cause_to_tell(const Findings& findings) {
  const auto first = std::ranges::find(findings, Severity::error, &Finding::severity);
  if (first == findings.end()) return std::nullopt;
  return *first;
}

std::span<const std::string_view> death_rule_names() { return cause_rule_names; }

}  // namespace berth
