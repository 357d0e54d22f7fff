// The state of the cards: what berth health found, and how they are set up.

#include <algorithm>

#include "diagnose/doctor/hollow_instances.h"
#include "diagnose/doctor/rules.h"
#include "health/health.h"
#include "snapshot/device_fault.h"
#include "snapshot/questions.h"

namespace berth::doctor {

namespace {

Severity severity_of(HealthState state) {
  switch (state) {
    case HealthState::ok:
    case HealthState::notice:
      return Severity::hint;
    case HealthState::degraded:
      return Severity::warning;
    case HealthState::failed:
      return Severity::error;
  }
  return Severity::error;
}

std::string shown(const DeviceHealth& health) {
  return health.index ? std::to_string(*health.index) : health.device.text();
}

/// Taken away on purpose, or told better by the driver's own rules (no_driver.cc and others).
bool is_told_elsewhere(const HealthFinding& found) {
  if (found.code != "unusable") return false;
  return found.state == HealthState::notice ||
         found.evidence == "no kernel driver is bound to it" ||
         found.evidence == "NVIDIA's library does not answer" ||
         found.evidence.find("nouveau") != std::string::npos;
}

Finding taken_over(const DeviceHealth& health, const HealthFinding& found) {
  Finding finding{.rule = "health_" + found.code,
                  .severity = severity_of(found.state),
                  .title = sentence("GPU {} is not well", shown(health)),
                  .evidence = {Sentence(found.evidence, {})},
                  .meaning = sentence("`berth health` says so; `berth run` gives nobody a card "
                                      "that it calls broken.")};
  const bool is_notice = found.state == HealthState::notice;
  if (is_notice) {
    finding.title = sentence("worth knowing of GPU {}", shown(health));
    finding.meaning = sentence("The card works, and `berth run` gives it out all the same.");
  }
  if (!found.advice.empty()) {
    finding.steps.push_back({Sentence(found.advice, {}), ""});
  } else if (is_notice) {
    finding.steps.push_back({sentence("nothing now; look again later"), "berth health"});
  } else {
    finding.steps.push_back(
        {sentence("see what the kernel says of it"), "sudo dmesg | grep -i -e nvrm -e segfault"});
  }
  return finding;
}

}  // namespace

Findings health_findings(const Examined& host) {
  Findings findings;
  for (const DeviceHealth& health : health_of(host.snapshot)) {
    for (const HealthFinding& found : health.findings) {
      if (!is_told_elsewhere(found)) findings.push_back(taken_over(health, found));
    }
  }
  return findings;
}

Findings persistence_off(const Examined& host) {
  std::vector<const Device*> off;
  for (const Device* device : working_gpus(host)) {
    // A display keeps the driver awake all the time.
    if (device->display_active.get().value_or(false)) return {};
    if (device->display_attached.get().value_or(false)) return {};
    const auto& mode = device->persistence_mode.get();
    if (mode && !*mode) off.push_back(device);
  }
  if (off.empty() || is_container(host)) return {};
  return {
      {.rule = "persistence_off",
       .severity = Severity::hint,
       .title = sentence("persistence mode is off"),
       .evidence = {sentence("it is off on GPU {}, and no display keeps the driver awake",
                             names_of(off))},
       .meaning = sentence("Whenever no program has a GPU open, the driver puts it away: the next "
                           "start waits a second or more per card, and limits and clocks that "
                           "somebody set are forgotten."),
       .steps = {{sentence("keep the driver awake, for good"),
                  "sudo systemctl enable --now nvidia-persistenced"},
                 {sentence("or until the next boot"), "sudo nvidia-smi -pm 1"}}}};
}

Findings mig_without_instances(const Examined& host) {
  Findings findings;
  for (const Device* device : working_gpus(host)) {
    if (division_of(*device) != Division::divided) continue;
    bool has_instance = false;
    for (const Device& other : host.snapshot.devices) {
      has_instance = has_instance || (other.parent && *other.parent == device->id);
    }
    // An instance without its inner half is told by mig_instance_hollow.
    if (has_instance || !hollow_instances_of(*device, host).empty()) continue;
    const std::string index = std::to_string(*device->index);
    findings.push_back(
        {.rule = "mig_without_instances",
         .severity = Severity::warning,
         .title = sentence("MIG is on for GPU {} and it has no instance", index),
         .evidence = {sentence("MIG mode is enabled and no instance is listed")},
         .meaning = sentence("A divided card gives programs its instances alone: without any, CUDA "
                             "leaves the card out."),
         .steps = {{sentence("make instances, for example one that is the whole card"),
                    "sudo nvidia-smi mig -i " + index + " -cgi 0 -C"},
                   {sentence("or give up MIG there (with every program off it)"),
                    "sudo nvidia-smi -i " + index + " -mig 0"}}});
  }
  return findings;
}

Findings mig_instance_hollow(const Examined& host) {
  Findings findings;
  for (const Device* device : working_gpus(host)) {
    if (division_of(*device) != Division::divided) continue;
    const std::string numbers = hollow_instances_of(*device, host);
    if (numbers.empty()) continue;
    const std::string index = std::to_string(*device->index);
    findings.push_back(
        {.rule = "mig_instance_hollow",
         .severity = Severity::warning,
         .title = sentence("GPU {} has an instance that nothing can compute on", index),
         .evidence = {sentence("GPU instance {} holds no compute instance", numbers)},
         .meaning = sentence("CUDA's devices are compute instances: this part of the card is "
                             "reserved and no program sees it."),
         .steps = {{sentence("make a compute instance in it"),
                    "sudo nvidia-smi mig -i " + index + " -gi " + numbers + " -cci"},
                   {sentence("or give its part of the card back"),
                    "sudo nvidia-smi mig -i " + index + " -gi " + numbers + " -dgi"}}});
  }
  return findings;
}

Findings mig_mode_pending(const Examined& host) {
  Findings findings;
  for (const Device* device : working_gpus(host)) {
    const auto& now = device->mig_mode.get();
    const auto later = device->details.get<bool>(Detail::mig_mode_pending);
    if (!now || !later.get() || *now == *later.get()) continue;
    const std::string index = std::to_string(*device->index);
    findings.push_back(
        {.rule = "mig_mode_pending",
         .severity = Severity::warning,
         .title = *now ? sentence("GPU {} is to leave MIG and has not done so", index)
                       : sentence("GPU {} is to be divided by MIG and is not yet", index),
         .evidence = {*now ? sentence("MIG mode is on now, and off after the next reset")
                           : sentence("MIG mode is off now, and on after the next reset")},
         .meaning = sentence("The mode changes when the card is reset, which waits until no "
                             "program has it open, not even a monitor or the display."),
         .steps = {{sentence("with every program off it, reset it; where that is refused, reboot"),
                    "sudo nvidia-smi --gpu-reset -i " + index},
                   {sentence("or take the change back"),
                    "sudo nvidia-smi -i " + index + " -mig " + (*now ? "1" : "0")}}});
  }
  return findings;
}

Findings compute_mode_prohibited(const Examined& host) {
  std::vector<const Device*> prohibited;
  for (const Device* device : working_gpus(host)) {
    if (is_prohibited(*device)) prohibited.push_back(device);
  }
  if (prohibited.empty()) return {};
  return {{.rule = "compute_mode_prohibited",
           .severity = Severity::warning,
           .title = sentence("computing is forbidden on GPU {}", names_of(prohibited)),
           .evidence = {sentence("its compute mode is {}", "Prohibited")},
           .meaning = sentence("Its administrator lets no program compute there."),
           .steps = {{sentence("if that is no longer meant"),
                      "sudo nvidia-smi -i " + index_list(prohibited) + " -c 0"}}}};
}

Findings compute_mode_exclusive(const Examined& host) {
  std::vector<const Device*> taken;
  for (const Device* device : working_gpus(host)) {
    const auto& mode = device->compute_mode.get();
    const bool one_only = mode && *mode == "Exclusive_Process";
    if (one_only && !processes_on(device->id, host.snapshot).empty()) taken.push_back(device);
  }
  if (taken.empty()) return {};
  return {{.rule = "compute_mode_exclusive",
           .severity = Severity::hint,
           .title = sentence("GPU {} takes one program at a time, and has it", names_of(taken)),
           .evidence = {sentence("its compute mode is {}", "Exclusive_Process")},
           .meaning =
               sentence("A second program there fails with \"all CUDA-capable devices are busy or "
                        "unavailable\" whatever memory is free."),
           .steps = {{sentence("take another one; berth run does so by itself"), "berth pick"}}}};
}

}  // namespace berth::doctor
