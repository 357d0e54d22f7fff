// The device failed under the job: what the sampler saw during the run (the record's events), else
// what the kernel log holds of that time.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/tr.h"
#include "diagnose/death/rules.h"
#include "health/xid.h"

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

void add_end(const DeathEvidence& evidence, Finding& finding) {
  if (evidence.run.end && evidence.run.end->because == end_cause::gpu_fault) {
    finding.evidence.push_back(sentence("berth ended the job for it, as --on-gpu-fault says"));
  }
}

Finding of_events(const Kind& kind, const DeathEvidence& evidence) {
  Finding finding{.rule = std::string(kind.rule),
                  .severity = Severity::error,
                  .title = Sentence(kind.title, {}),
                  .evidence = {},
                  .meaning = Sentence(kind.meaning, {}),
                  .steps = {},
                  .doubt = {}};
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
bool is_of_neighbour(const XidEvent& xid, const DeathEvidence& evidence) {
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

Findings of_kernel_log(const DeathEvidence& evidence) {
  if (!evidence.xids.get() || !evidence.run.end) return {};
  Findings findings;
  for (const XidEvent& xid : *evidence.xids.get()) {
    if (!is_of_run(xid, evidence.run) || is_of_neighbour(xid, evidence)) continue;
    const XidFacts facts = xid_facts(xid.code);
    Finding finding{.rule = fmt::format("xid_{}", xid.code),
                    .severity = Severity::error,
                    .title = sentence("the driver reported XID {} while it ran", xid.code),
                    .evidence = {sentence("the kernel log, {}: {}", printable(xid.pci_address),
                                          printable(xid.text))},
                    .meaning = Sentence(facts.meaning, {}),
                    .steps = {{Sentence(advice_for(facts.action), {}), ""}},
                    .doubt = {}};
    if (!xid.pid.get()) {
      finding.doubt =
          sentence("the driver names no process: it may be of another job on the device");
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

Findings device_fault(const DeathEvidence& evidence) {
  Findings findings;
  for (const Kind& kind : kinds) {
    Finding finding = of_events(kind, evidence);
    if (!finding.evidence.empty()) findings.push_back(std::move(finding));
  }
  return findings.empty() ? of_kernel_log(evidence) : findings;
}

}  // namespace berth
