#include "diagnose/postmortem/postmortem.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "diagnose/postmortem/catalogue.h"

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

/// A finding beside the cause, which tells nothing of the signal that ended the run.
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

/// The cause itself, and not what a program went on in spite of.
bool tells_the_end(const Finding& finding) {
  return finding.severity == Severity::error || finding.rule == "time_limit" ||
         finding.rule == "stopped";
}

/// Whether this rule is asked after those that found these.
bool is_asked(const PostmortemRule& rule, const Findings& findings) {
  switch (rule.asked) {
    case PostmortemRule::Asked::always:
      return true;
    case PostmortemRule::Asked::without_cause:
      return std::ranges::all_of(findings, is_no_cause);
    case PostmortemRule::Asked::without_error:
      return std::ranges::none_of(findings, tells_the_end);
  }
  return true;
}

}  // namespace

const std::vector<PostmortemRule>& postmortem_rules() {
  static const auto all = rows_of<PostmortemRule>(
      {ended_by_berth_rules, machine_rules, output_rules, last_resort_rules});
  return all;
}

Findings explain_postmortem(const PostmortemEvidence& evidence) {
  Findings findings;
  if (ended_in_order(evidence.run)) return findings;
  const bool never_started = was_never_started(evidence.run);
  const bool on_purpose = was_ended_on_purpose(evidence);
  Findings remarks;
  for (const PostmortemRule& rule : postmortem_rules()) {
    if (never_started && !findings.empty()) break;  // nothing else can have ended it
    if (!is_asked(rule, findings)) continue;
    for (Finding& finding : rule.find(evidence)) {
      if (on_purpose && rule.is_of_device) {
        remarks.push_back(as_remark(std::move(finding)));
      } else if (!knows(findings, finding.rule)) {
        findings.push_back(std::move(finding));
      }
    }
  }
  std::ranges::move(remarks, std::back_inserter(findings));
  return findings;
}

std::optional<Finding> cause_to_tell(const Findings& findings) {
  const auto first = std::ranges::find(findings, Severity::error, &Finding::severity);
  if (first == findings.end()) return std::nullopt;
  return *first;
}

}  // namespace berth
