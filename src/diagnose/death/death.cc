#include "diagnose/death/death.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "diagnose/death/catalogue.h"

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

bool has_failed(const RunRecord& run) {
  return run.end && run.end->known && (run.end->exit.signal != 0 || run.end->exit.code != 0);
}

bool ended_well(const RunRecord& run) { return run.end && run.end->known && !has_failed(run); }

bool was_while_it_ran(WallTime at, const RunRecord& run) {
  constexpr std::int64_t slack_ms = 2000;
  return at.unix_ms >= run.manifest.started.unix_ms - slack_ms &&
         at.unix_ms <= run.end->at.unix_ms + slack_ms;
}

bool is_process_of_run(pid_t pid, const DeathEvidence& evidence) {
  const auto& job = evidence.run.manifest.job;
  return (job && job->pid == pid) ||
         std::ranges::find(evidence.processes, pid) != evidence.processes.end();
}

int signal_of(const RunRecord& run) {
  if (!run.end || !run.end->known) return 0;
  if (run.end->exit.signal != 0) return run.end->exit.signal;
  const int code = run.end->exit.code;
  return code > 128 && code <= 128 + 64 ? code - 128 : 0;
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? fmt::format("{}", signal) : fmt::format("SIG{} ({})", name, signal);
}

Findings explain_death(const DeathEvidence& evidence) {
  Findings findings;
  if (ended_well(evidence.run)) return findings;
  using Rule = Findings (*)(const DeathEvidence&);
  constexpr auto rules = std::to_array<Rule>({
      death_by_berth,
      death_by_device,
      death_by_driver_reset,
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
