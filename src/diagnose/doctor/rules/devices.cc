// How the cards are set up: MIG and compute mode.

#include <algorithm>
#include <string>

#include "diagnose/doctor/doctor.h"
#include "diagnose/doctor/examined.h"
#include "snapshot/questions.h"

namespace berth::doctor {

namespace {

/// GPU instances of a divided card that hold no compute instance: parts of it that no program sees.
/// Their numbers as an argument of -gi, "1,2"; by the kernel and by NVML. Empty: there is none, or
/// it cannot be told: in a container the kernel's folders may be shown in part.
std::string hollow_instances_of(const Device& device, const Examined& host) {
  const auto& minor = device.minor_number.get();
  if (!host.facts.kernel || !minor || is_container(host)) return "";
  std::string numbers;
  for (const HollowInstance& hollow : host.facts.kernel->hollow_instances) {
    const bool is_listed = std::ranges::any_of(host.snapshot.devices, [&](const Device& other) {
      return other.parent == device.id && other.partition &&
             other.partition->gpu_instance == hollow.gpu_instance;
    });
    if (hollow.minor_number != *minor || is_listed) continue;
    numbers += (numbers.empty() ? "" : ",") + std::to_string(hollow.gpu_instance);
  }
  return numbers;
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
         .meaning = sentence("The mode changes when the card is reset. That waits until no program "
                             "has it open, not even a monitor or the display."),
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

}  // namespace

std::span<const DoctorRule> devices_rules() {
  static constexpr DoctorRule rules[] = {
      {.find = mig_without_instances,
       .reports = {{"mig_without_instances", "warning", "MIG mode on, no instance listed",
                    "make instances, or leave MIG"}}},
      {.find = mig_instance_hollow,
       .reports = {{"mig_instance_hollow", "warning",
                    "the kernel's folders name a GPU instance without a compute instance, and NVML "
                    "lists no device in it",
                    "make one in it, or give it back"}}},
      {.find = mig_mode_pending,
       .reports = {{"mig_mode_pending", "warning", "MIG mode now and after the next reset differ",
                    "reset the card, or take it back"}}},
      {.find = compute_mode_prohibited,
       .reports = {{"compute_mode_prohibited", "warning", "compute mode Prohibited",
                    "nvidia-smi -c 0, if not meant"}}},
      {.find = compute_mode_exclusive,
       .reports = {{"compute_mode_exclusive", "hint", "Exclusive_Process, and somebody is on it",
                    "another card"}}},
  };
  return rules;
}

}  // namespace berth::doctor
