// Whether the driver is there and of one piece.

#include <algorithm>

#include "diagnose/doctor/driver_parts.h"
#include "diagnose/doctor/rules.h"

namespace berth::doctor {

namespace {

std::vector<const Device*> cards_of_nouveau(const Examined& host) {
  std::vector<const Device*> cards;
  for (const Device& device : host.snapshot.devices) {
    if (device.kind != DeviceKind::nvidia_gpu || device.index) continue;
    const auto& bound = device.kernel_driver.get();
    if (bound && *bound == "nouveau") cards.push_back(&device);
  }
  return cards;
}

/// NVIDIA's cards on the PCI bus, those given to virtual machines left out.
std::vector<const Device*> cards_without_driver(const Examined& host) {
  std::vector<const Device*> cards;
  for (const Device& device : host.snapshot.devices) {
    if (device.kind != DeviceKind::nvidia_gpu || device.index) continue;
    if (device.unusable_because == "no kernel driver is bound to it") cards.push_back(&device);
  }
  return cards;
}

std::string release_of(const KernelSide& kernel) {
  return kernel.release.get() ? *kernel.release.get() : std::string("?");
}

Finding unbound(const Examined& host, const std::vector<const Device*>& cards) {
  Finding finding{
      .rule = "no_driver",
      .severity = Severity::error,
      .title = sentence("no driver runs the NVIDIA card"),
      .evidence = {sentence("no kernel driver is bound to {}", names_of(cards))},
      .meaning = sentence("Until NVIDIA's driver has it, no program can compute on it.")};
  const auto& kernel = host.world.kernel;
  if (kernel && kernel->module_installed.get() && *kernel->module_installed.get()) {
    finding.evidence.push_back(
        sentence("the nvidia module is built for the running kernel {}", release_of(*kernel)));
    finding.steps.push_back({sentence("load it, and read what the kernel says if that fails"),
                             "sudo modprobe nvidia; sudo dmesg | tail"});
    return finding;
  }
  if (kernel && kernel->module_installed.get()) {
    finding.evidence.push_back(
        sentence("there is no nvidia module for the running kernel {}", release_of(*kernel)));
  }
  finding.steps.push_back({sentence("where the driver is installed: have its module built for this "
                                    "kernel (a kernel update does not always do that)"),
                           "sudo dkms autoinstall && sudo modprobe nvidia"});
  finding.steps.push_back(
      {sentence("else install the driver from your distribution's packages"), ""});
  return finding;
}

}  // namespace

Findings nouveau_driver(const Examined& host) {
  const auto cards = cards_of_nouveau(host);
  if (cards.empty()) return {};
  return {
      {.rule = "nouveau_driver",
       .severity = Severity::error,
       .title = sentence("the nouveau driver has the NVIDIA card"),
       .evidence = {sentence("nouveau is bound to {}", names_of(cards))},
       .meaning = sentence("CUDA works with NVIDIA's own driver alone, and only one can be bound."),
       .steps = {{sentence("keep nouveau from loading, then install NVIDIA's driver and reboot"),
                  "printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' | sudo tee "
                  "/etc/modprobe.d/no-nouveau.conf && sudo update-initramfs -u"}}}};
}

Findings no_driver(const Examined& host) {
  const auto cards = cards_without_driver(host);
  if (cards.empty()) return {};
  const auto& kernel = host.world.kernel;
  const bool refused = kernel && kernel->secure_boot.get().value_or(false) &&
                       kernel->module_installed.get().value_or(false) &&
                       !kernel->module_version.get();
  if (!refused) return {unbound(host, cards)};
  return {
      {.rule = "secure_boot",
       .severity = Severity::error,
       .title = sentence("Secure Boot probably refuses the driver's module"),
       .evidence = {sentence("Secure Boot is on (efivars)"),
                    sentence("the nvidia module is built for the running kernel {} and not loaded",
                             release_of(*kernel))},
       .meaning = sentence("With Secure Boot the kernel loads only modules signed with a key that "
                           "this machine's firmware knows."),
       .steps = {{sentence("see whether the kernel says so"),
                  "sudo modprobe nvidia; sudo dmesg | grep -iE 'lockdown|key|nvidia' | tail"},
                 {sentence("enrol the key that signs the module, then reboot and confirm it there"),
                  "sudo mokutil --import /var/lib/dkms/mok.pub"}},
       .doubt = sentence("the kernel log was not read")}};
}

Findings driver_versions_differ(const Examined& host) {
  const Problem* problem = nvml_problem(host);
  if (problem == nullptr || problem->code != "version_mismatch") return {};
  Finding finding{
      .rule = "driver_versions_differ",
      .severity = Severity::error,
      .title = sentence("the driver's library and its kernel module are of different versions"),
      .evidence = {Sentence(problem->message, {})},
      .meaning = sentence("The driver was updated while the old module stayed loaded; until "
                          "both are the same, nothing can use the GPUs."),
      .steps = {{sentence("reboot; that is the sure way"), "sudo reboot"},
                {sentence("or, with every program off the GPUs, load the new module"),
                 "sudo rmmod nvidia_drm nvidia_modeset nvidia_uvm nvidia && sudo "
                 "modprobe nvidia"}}};
  const auto& kernel = host.world.kernel;
  if (kernel && kernel->module_version.get()) {
    finding.evidence.push_back(sentence("the loaded module is {}", *kernel->module_version.get()));
  }
  if (host.world.libraries) {
    for (const FoundLibrary& library : host.world.libraries->found) {
      if (library.name == "libnvidia-ml" && library.version.find('.') != std::string::npos) {
        finding.evidence.push_back(sentence("the library is {}", library.path));
      }
    }
  }
  return {finding};
}

Findings devices_not_seen(const Examined& host) {
  const Problem* problem = unseen_because(host);
  if (problem == nullptr) return {};
  return {{.rule = "devices_not_seen",
           .severity = Severity::error,
           .title = sentence("this machine's devices could not be looked at"),
           .evidence = {Sentence(problem->message, {})},
           .meaning = sentence("What is said here of devices, or not said, rests on nothing."),
           .steps = {
               {sentence("see what the process that looks may use: open files, processes, memory"),
                "ulimit -a"}}}};
}

Findings driver_silent(const Examined& host) {
  const Problem* problem = nvml_problem(host);
  if (problem == nullptr || problem->code == "version_mismatch" || driver_works(host)) return {};
  const auto& kernel = host.world.kernel;
  // A machine without any card is well without the library.
  const bool has_card = std::ranges::any_of(host.snapshot.devices, [](const Device& device) {
    return device.kind == DeviceKind::nvidia_gpu && device.kernel_driver.get() &&
           *device.kernel_driver.get() == "nvidia";
  });
  if (!has_card && !(kernel && kernel->module_version.get())) return {};
  return {
      {.rule = "driver_silent",
       .severity = Severity::error,
       .title = sentence("the driver is loaded and its library does not answer"),
       .evidence = {Sentence(problem->message, {})},
       .meaning = sentence("Programs that ask for a GPU fail or hang in the same place."),
       .steps = {{Sentence(problem->remedy.empty() ? "read the kernel log" : problem->remedy, {}),
                  "sudo dmesg | grep -iE 'nvrm|xid' | tail"}}}};
}

}  // namespace berth::doctor
