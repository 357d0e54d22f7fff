#include "diagnose/postmortem/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

namespace berth {

bool was_ended_on_purpose(const PostmortemEvidence& evidence) {
  const RunRecord& run = evidence.run;
  if (!run.end || !run.end->known || run.end->because == end_cause::gpu_fault) return false;
  const std::string& because = run.end->because;
  constexpr std::array wanted = {end_cause::stopped, end_cause::time_limit, end_cause::warned,
                                 end_cause::memory_cap};
  if (std::ranges::find(wanted, because) != wanted.end()) return true;
  // The signal may be the one that --on-gpu-fault sent.
  if (std::ranges::find(evidence.events, "on_gpu_fault", &RunEvent::kind) !=
      evidence.events.end()) {
    return false;
  }
  if (evidence.end_was_wanted) return true;
  // A device that fails sends none of these; a program that dies of it exits, or aborts.
  constexpr std::array askings = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  return std::ranges::find(askings, signal_of(run)) != askings.end();
}

bool was_while_it_ran(WallTime at, const RunRecord& run) {
  constexpr std::int64_t slack_ms = 2000;
  return at.unix_ms >= run.manifest.started.unix_ms - slack_ms &&
         at.unix_ms <= run.end->at.unix_ms + slack_ms;
}

bool is_process_of_run(pid_t pid, const PostmortemEvidence& evidence) {
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

void add_events(std::string_view kind, const PostmortemEvidence& evidence, Finding& finding) {
  constexpr std::size_t most = 8;
  for (const RunEvent& event : evidence.events) {
    if (event.kind == kind && finding.evidence.size() < most) {
      finding.evidence.push_back(event.text);
    }
  }
}

}  // namespace berth
