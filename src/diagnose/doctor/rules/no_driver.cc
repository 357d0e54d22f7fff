#include "diagnose/doctor/rules.h"
#include "snapshot/device_fault.h"

namespace berth::doctor {

namespace {

/// NVIDIA's cards on the PCI bus, those given to virtual machines left out.
std::vector<const Device*> cards_without_driver(const Examined& host) {
  std::vector<const Device*> cards;
  for (const Device& device : host.snapshot.devices) {
    if (device.kind != DeviceKind::nvidia_gpu || device.index) continue;
    if (device.unusable_because == no_driver_has_it) cards.push_back(&device);
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

}  // namespace berth::doctor
