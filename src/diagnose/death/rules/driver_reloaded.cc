// The driver was loaded anew under the job: what the sampler saw (the record's events), and the
// kernel log's word that the module was loaded in that time. The driver had answered before, or the
// run had not been given the device.

#include <algorithm>

#include "base/text.h"
#include "diagnose/death/rules.h"

namespace berth {

namespace {

/// It was given a card of the driver's, which so had answered.
bool had_the_driver(const Manifest& manifest) {
  return manifest.given.host.driver_version.get() &&
         std::ranges::any_of(manifest.given.devices, [](const Device& device) {
           return device.kind == DeviceKind::nvidia_gpu || device.kind == DeviceKind::nvidia_mig;
         });
}

/// The look before a run may load the module itself, and the kernel log's clock is rough.
bool was_after_its_start(WallTime at, const RunRecord& run) {
  constexpr std::int64_t rough_ms = 5000;
  return at.unix_ms >= run.manifest.started.unix_ms + rough_ms && was_while_it_ran(at, run);
}

void add_loads(const DeathEvidence& evidence, Finding& finding) {
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
          .meaning = sentence(
              "What a job had on its devices is gone then, and libraries that it has loaded may "
              "not fit the new module."),
          .steps = {{sentence("ask the administrator whether the driver was updated; start the job "
                              "again"),
                     ""},
                    {sentence("see whether the driver's parts fit each other"), "berth doctor"}},
          .doubt = sentence("a driver is not unloaded while a job has a device open: it may have "
                            "failed for another reason before")};
}

}  // namespace

Findings driver_reloaded(const DeathEvidence& evidence) {
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

}  // namespace berth
