// What it stood on failed: its devices, the driver, the main memory. By the run's events or the
// kernel's log.

#include <algorithm>
#include <array>
#include <csignal>

#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"
#include "diagnose/postmortem/explain_log.h"
#include "diagnose/postmortem/postmortem.h"
#include "health/xid.h"
#include "snapshot/device_kind.h"

namespace berth {

namespace {

using std::chrono::milliseconds;

struct Kind {
  std::string_view event;
  std::string_view rule;
  std::string_view title;
  std::string_view meaning;
};

constexpr auto kinds = std::to_array<Kind>({
    {"gpu_lost", "device_lost", as_key("a device of the run was lost while it ran"),
     as_key("It answers nobody any more: the job could not go on, whatever it did.")},
    {"gpu_failed", "device_failed", as_key("a device of the run failed while it ran"),
     as_key("It is in a state in which no job should be given it.")},
    {"gpu_error", "device_error", as_key("the driver reported an error of the device while it ran"),
     as_key("The error (XID) is the device's or its surroundings', not the program's.")},
    {"job_error", "job_error_on_device",
     as_key("the driver reported an error that the job made on the device"),
     as_key("The error (XID) is of the program's own making: mostly a kernel that touches memory "
            "that is not its own.")},
});

void add_end(const PostmortemEvidence& evidence, Finding& finding) {
  if (evidence.run.end && evidence.run.end->because == end_cause::gpu_fault) {
    finding.evidence.push_back(sentence("berth ended the job for it, as --on-gpu-fault says"));
  }
}

Finding of_events(const Kind& kind, const PostmortemEvidence& evidence) {
  Finding finding{.rule = std::string(kind.rule),
                  .severity = Severity::error,
                  .title = Sentence(kind.title),
                  .meaning = Sentence(kind.meaning)};
  add_events(kind.event, evidence, finding);
  if (finding.evidence.empty()) return finding;
  add_end(evidence, finding);
  finding.steps.push_back({sentence("see how the devices are now"), "berth health"});
  if (kind.event == "job_error") {
    finding.steps.push_back(
        {sentence("let NVIDIA's checker find the access"), "compute-sanitizer python train.py"});
  } else {
    finding.steps.push_back({sentence("have it started again on another device when one fails"),
                             "berth run --retry-on gpu-fault -- python train.py"});
  }
  return finding;
}

/// An error of a job's own, of a process that was none of the run's.
bool is_of_neighbour(const XidEvent& xid, const PostmortemEvidence& evidence) {
  const bool is_jobs_own = xid_facts(xid.code).action == XidAction::restart_app;
  const auto& pid = xid.pid.get();
  return is_jobs_own && pid && !is_process_of_run(static_cast<pid_t>(*pid), evidence);
}

bool is_of_run(const XidEvent& xid, const RunRecord& run) {
  if (!was_while_it_ran(xid.at, run)) return false;
  return std::ranges::any_of(run.manifest.given.devices, [&](const Device& device) {
    return device.pci_address.get() && *device.pci_address.get() == xid.pci_address;
  });
}

Findings of_kernel_log(const PostmortemEvidence& evidence) {
  if (!evidence.xids.get() || !evidence.run.end) return {};
  Findings findings;
  for (const XidEvent& xid : *evidence.xids.get()) {
    if (!is_of_run(xid, evidence.run) || is_of_neighbour(xid, evidence)) continue;
    Finding finding = finding_of_xid(
        xid, sentence("the driver reported XID {} while it ran", xid.code),
        sentence("the kernel log, {}: {}", printable(xid.pci_address), printable(xid.text)));
    if (!xid.pid.get()) {
      finding.doubt =
          sentence("the driver names no process: it may be of another job on the device");
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

/// The device failed under the job. What the sampler saw during the run counts first (the record's
/// events), else the kernel log of that time.
Findings device_fault(const PostmortemEvidence& evidence) {
  Findings findings;
  for (const Kind& kind : kinds) {
    Finding finding = of_events(kind, evidence);
    if (!finding.evidence.empty()) findings.push_back(std::move(finding));
  }
  return findings.empty() ? of_kernel_log(evidence) : findings;
}

Finding reset_finding() {
  return {.rule = "device_reset",
          .severity = Severity::error,
          .title = sentence("a device of the run was reset while it ran"),
          .meaning = sentence(
              "A reset takes from the job all that it had on the device, which nothing brings "
              "back."),
          .steps = {{sentence("ask the administrator who reset it, and what for"), ""},
                    {sentence("see how the devices are now"), "berth health"}}};
}

/// A device was reset under the job: what the sampler saw (the record's events).
Findings device_reset(const PostmortemEvidence& evidence) {
  const RunRecord& run = evidence.run;
  if (!has_failed(run)) return {};
  if (!run.end->because.empty() && run.end->because != end_cause::gpu_fault) return {};
  Finding reset = reset_finding();
  add_events("gpu_back", evidence, reset);
  if (reset.evidence.empty()) return {};
  return {std::move(reset)};
}

/// It was given a card of the driver's, which so had answered.
bool had_the_driver(const Manifest& manifest) {
  return std::ranges::any_of(manifest.given.devices, [&](const Device& device) {
    return is_supported(device) && manifest.given.host.software_of(device).driver.get();
  });
}

/// The look before a run may load the module itself, and the kernel log's clock is rough.
bool was_after_its_start(WallTime at, const RunRecord& run) {
  constexpr std::int64_t rough_ms = 5000;
  return at.unix_ms >= run.manifest.started.unix_ms + rough_ms && was_while_it_ran(at, run);
}

void add_loads(const PostmortemEvidence& evidence, Finding& finding) {
  if (!evidence.driver_loads.get()) return;
  for (const DriverLoad& load : *evidence.driver_loads.get()) {
    if (!was_after_its_start(load.at, evidence.run)) continue;
    finding.evidence.push_back(
        sentence("the kernel log: the driver's module {} was loaded", printable(load.version)));
  }
}

Finding reload_finding() {
  return {.rule = "driver_reloaded",
          .severity = Severity::warning,
          .title = sentence("the driver was loaded anew while it ran"),
          .evidence = {},
          .meaning = sentence("What a job had on its devices is gone then. Libraries that it has "
                              "loaded may not fit the new module."),
          .steps = {{sentence("ask the administrator whether the driver was updated; start the job "
                              "again"),
                     ""},
                    {sentence("see whether the driver's parts fit each other"), "berth doctor"}},
          .doubt = sentence("a driver is not unloaded while a job has a device open: it may have "
                            "failed for another reason before")};
}

/// The driver was loaded anew under the job. The sampler tells it (the record's events), or the
/// kernel log says that the module was loaded in that time. It counts only if the driver had
/// answered when the devices were chosen.
Findings driver_reloaded(const PostmortemEvidence& evidence) {
  const RunRecord& run = evidence.run;
  if (!has_failed(run)) return {};
  if (!run.end->because.empty() && run.end->because != end_cause::gpu_fault) return {};
  if (!had_the_driver(run.manifest)) return {};
  Finding reloaded = reload_finding();
  add_events("driver_changed", evidence, reloaded);
  add_loads(evidence, reloaded);
  if (reloaded.evidence.empty()) return {};
  return {std::move(reloaded)};
}

Finding killed_by_kernel() {
  return {
      .rule = "oom_killer",
      .severity = Severity::error,
      .title = sentence("the kernel killed it: the main memory was used up"),
      .meaning = sentence(
          "The machine, or the control group of the job (a container's or a scheduler's limit), "
          "had no main memory left. It is not the GPU's memory."),
      .steps = {{sentence("load less at once: fewer data loader workers, a memory map or a stream "
                          "instead of the whole data set"),
                 ""},
                {sentence("ask the scheduler or the container for more main memory"), ""}}};
}

bool is_of_run(const OomKill& kill, const PostmortemEvidence& evidence) {
  return was_while_it_ran(kill.at, evidence.run) && is_process_of_run(kill.pid, evidence);
}

void add_kernel_log(const PostmortemEvidence& evidence, Finding& finding) {
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

/// The kernel killed it because the main memory was used up. The counter of its control group tells
/// it (the keeper's event), or the kernel log. Else its memory when it was killed makes it likely.
Findings oom_killer(const PostmortemEvidence& evidence) {
  const RunRecord& run = evidence.run;
  if (!has_failed(run) || !run.end->because.empty()) return {};
  Finding finding = killed_by_kernel();
  bool elsewhere = false;
  for (const RunEvent& event : evidence.events) {
    if (event.kind == "oom_kill") finding.evidence.push_back(event.text);
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
    if (event.kind == "oom_kill_on_machine") finding.evidence.push_back(event.text);
  }
  add_peak(run, finding);
  finding.doubt = sentence("neither its control group nor the kernel log names the run");
  finding.steps.insert(finding.steps.begin(),
                       {sentence("ask the kernel whether it was for want of memory"),
                        "dmesg -T | grep -i 'killed process'"});
  return {std::move(finding)};
}

}  // namespace

std::span<const PostmortemRule> machine_rules() {
  static constexpr PostmortemRule rules[] = {
      {.find = device_fault,
       .is_of_device = true,
       .reports = {{"device_lost, device_failed, device_error, job_error_on_device", "error",
                    "the sampler saw it during the run: events `gpu_lost`, `gpu_failed`, "
                    "`gpu_error`, `job_error`",
                    "yes; a remark behind the cause where its user (`berth stop`, Ctrl-C, SIGTERM, "
                    "SIGHUP) or its time limit ended it"},
                   {"xid_…", "error",
                    "else the kernel log: an XID of one of the run's devices in its time",
                    "doubt where the driver names no process"}}},
      {.find = device_reset,
       .is_of_device = true,
       .reports =
           {{"device_reset", "error",
             "the event `gpu_back`: the sampler saw a device of the run be lost and answer again",
             "yes"}}},
      {.find = driver_reloaded,

       .reports = {{"driver_reloaded", "warning",
                    "the event `driver_changed`; or the kernel log says that the module was loaded "
                    "while it ran, on a driver that had answered before",
                    "doubt"}}},
      {.find = oom_killer,

       .reports =
           {{"oom_killer", "error",
             "the event `oom_kill`: the counter `oom_kill` in `memory.events` (control groups v2) "
             "or `memory.oom_control` (v1) rose while it ran; or the kernel log names one of its "
             "processes",
             "yes where its main process was killed or one of its own is named; else doubt"},
            {"oom_killer", "warning",
             "killed by SIGKILL, and the machine's counter in /proc/vmstat rose (the group's "
             "cannot be read) or its processes had held 80 % of the machine's memory",
             "doubt"}}},
  };
  return rules;
}

}  // namespace berth
