// The kernel killed it because the main memory was used up: by the counter of its control group
// (the keeper's event), by the kernel log, else by how much memory it had when it was killed.

#include <algorithm>
#include <csignal>

#include "base/text.h"
#include "diagnose/death/rules.h"

namespace berth {

namespace {

Finding killed_by_kernel() {
  return {
      .rule = "oom_killer",
      .severity = Severity::error,
      .title = sentence("the kernel killed it: the main memory was used up"),
      .evidence = {},
      .meaning = sentence(
          "The machine, or the control group of the job (a container's or a scheduler's limit), "
          "had no main memory left. It is not the GPU's memory."),
      .steps = {{sentence("load less at once: fewer data loader workers, a memory map or a stream "
                          "instead of the whole data set"),
                 ""},
                {sentence("ask the scheduler or the container for more main memory"), ""}},
      .doubt = {}};
}

bool is_of_run(const OomKill& kill, const DeathEvidence& evidence) {
  return was_while_it_ran(kill.at, evidence.run) && is_process_of_run(kill.pid, evidence);
}

void add_kernel_log(const DeathEvidence& evidence, Finding& finding) {
  if (!evidence.oom_kills.get()) return;
  for (const OomKill& kill : *evidence.oom_kills.get()) {
    if (!is_of_run(kill, evidence)) continue;
    finding.evidence.push_back(
        kill.resident ? sentence("the kernel log: process {} ({}) was killed, it held {}", kill.pid,
                                 printable(kill.process), short_size(*kill.resident))
                      : sentence("the kernel log: process {} ({}) was killed", kill.pid,
                                 printable(kill.process)));
  }
}

void add_peak(const RunRecord& run, Finding& finding) {
  const auto& peak = run.end->summary.tree_memory_peak;
  if (!peak.get()) return;
  const auto& all = run.manifest.machine.memory_total;
  finding.evidence.push_back(
      all.get() ? sentence("its processes held up to {} of the machine's {}",
                           short_size(*peak.get()), short_size(*all.get()))
                : sentence("its processes held up to {}", short_size(*peak.get())));
}

bool nearly_filled_machine(const RunRecord& run) {
  const auto& peak = run.end->summary.tree_memory_peak;
  const auto& all = run.manifest.machine.memory_total;
  return peak.get() && all.get() && peak.get()->count() / 8 >= all.get()->count() / 10;  // 80 %
}

}  // namespace

Findings oom_killer(const DeathEvidence& evidence) {
  const RunRecord& run = evidence.run;
  if (!has_failed(run) || !run.end->because.empty()) return {};
  Finding finding = killed_by_kernel();
  bool elsewhere = false;
  for (const RunEvent& event : evidence.events) {
    if (event.kind == "oom_kill") finding.evidence.push_back(Sentence(event.text, {}));
    elsewhere = elsewhere || event.kind == "oom_kill_on_machine";
  }
  const bool counted = !finding.evidence.empty();
  const std::size_t before = finding.evidence.size();
  add_kernel_log(evidence, finding);
  const bool named = finding.evidence.size() > before;
  if (counted || named) {
    if (!named && signal_of(run) != SIGKILL) {
      finding.severity = Severity::warning;
      finding.title = sentence("the kernel killed a process near it: the main memory was used up");
      finding.doubt = sentence(
          "the job itself was not killed: it may have been another process of the same login "
          "session or container");
    }
    add_peak(run, finding);
    return {std::move(finding)};
  }
  if (signal_of(run) != SIGKILL || (!elsewhere && !nearly_filled_machine(run))) return {};
  finding.severity = Severity::warning;
  finding.title = sentence("it was killed, probably by the kernel for want of main memory");
  finding.evidence.push_back(sentence("it was ended by {}", signal_name(SIGKILL)));
  for (const RunEvent& event : evidence.events) {
    if (event.kind == "oom_kill_on_machine") finding.evidence.push_back(Sentence(event.text, {}));
  }
  add_peak(run, finding);
  finding.doubt = sentence("neither its control group nor the kernel log names the run");
  finding.steps.insert(finding.steps.begin(),
                       {sentence("ask the kernel whether it was for want of memory"),
                        "dmesg -T | grep -i 'killed process'"});
  return {std::move(finding)};
}

}  // namespace berth
