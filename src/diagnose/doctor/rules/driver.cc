// Is the driver there and whole, and can programs reach it?

#include <algorithm>

#include "base/sentence.h"
#include "diagnose/doctor/doctor.h"
#include "snapshot/device_fault.h"

namespace berth::doctor {

namespace {

Findings devices_not_seen(const Examined& host) {
  const Problem* problem = unseen_because(host);
  if (problem == nullptr) return {};
  return {{.rule = "devices_not_seen",
           .severity = Severity::error,
           .title = sentence("this machine's devices could not be looked at"),
           .evidence = {problem->message},
           .meaning = sentence("What is said here of devices, or not said, rests on nothing."),
           .steps = {
               {sentence("see what the process that looks may use: open files, processes, memory"),
                "ulimit -a"}}}};
}

std::vector<const Device*> cards_of_nouveau(const Examined& host) {
  std::vector<const Device*> cards;
  for (const Device& device : host.snapshot.devices) {
    if (device.kind != DeviceKind::nvidia_gpu || device.index) continue;
    const auto& bound = device.kernel_driver.get();
    if (bound && *bound == "nouveau") cards.push_back(&device);
  }
  return cards;
}

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

/// NVIDIA's cards on the PCI bus, those given to virtual machines left out.
std::vector<const Device*> cards_without_driver(const Examined& host) {
  std::vector<const Device*> cards;
  for (const Device& device : host.snapshot.devices) {
    if (device.kind != DeviceKind::nvidia_gpu || device.index) continue;
    if (device.unusable_because == Unusable::no_driver) cards.push_back(&device);
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
  const auto& kernel = host.facts.kernel;
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

Findings no_driver(const Examined& host) {
  const auto cards = cards_without_driver(host);
  if (cards.empty()) return {};
  const auto& kernel = host.facts.kernel;
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
      .evidence = {problem->message},
      .meaning = sentence("The driver was updated while the old module stayed loaded; until "
                          "both are the same, nothing can use the GPUs."),
      .steps = {{sentence("reboot; that is the sure way"), "sudo reboot"},
                {sentence("or, with every program off the GPUs, load the new module"),
                 "sudo rmmod nvidia_drm nvidia_modeset nvidia_uvm nvidia && sudo "
                 "modprobe nvidia"}}};
  const auto& kernel = host.facts.kernel;
  if (kernel && kernel->module_version.get()) {
    finding.evidence.push_back(sentence("the loaded module is {}", *kernel->module_version.get()));
  }
  if (host.facts.libraries) {
    for (const FoundLibrary& library : host.facts.libraries->found) {
      if (library.name == "libnvidia-ml" && library.version.find('.') != std::string::npos) {
        finding.evidence.push_back(sentence("the library is {}", library.path));
      }
    }
  }
  return {finding};
}

Findings driver_silent(const Examined& host) {
  const Problem* problem = nvml_problem(host);
  if (problem == nullptr || problem->code == "version_mismatch" || driver_works(host)) return {};
  const auto& kernel = host.facts.kernel;
  // A machine without any card is well without the library.
  const bool has_card = std::ranges::any_of(host.snapshot.devices, [](const Device& device) {
    return device.kind == DeviceKind::nvidia_gpu && device.kernel_driver.get() &&
           *device.kernel_driver.get() == "nvidia";
  });
  if (!has_card && !(kernel && kernel->module_version.get())) return {};
  return {{.rule = "driver_silent",
           .severity = Severity::error,
           .title = sentence("the driver is loaded and its library does not answer"),
           .evidence = {problem->message},
           .meaning = sentence("Programs that ask for a GPU fail or hang in the same place."),
           .steps = {{problem->remedy.empty() ? sentence("read the kernel log") : problem->remedy,
                      "sudo dmesg | grep -iE 'nvrm|xid' | tail"}}}};
}

const DeviceFile* first_with(const Examined& host, FileAccess access) {
  const auto at = std::ranges::find_if(host.facts.device_files, [&](const DeviceFile& file) {
    return file.access == access && file.path.starts_with("/dev/nvidia");
  });
  return at == host.facts.device_files.end() ? nullptr : &*at;
}

Finding missing() {
  return {.rule = "device_files_missing",
          .severity = Severity::error,
          .title = sentence("the driver is loaded and its device files are missing"),
          .evidence = {sentence("there is no {}", "/dev/nvidiactl")},
          .meaning = sentence("Programs reach the driver through these files alone."),
          .steps = {{sentence("have them made; nvidia-modprobe comes with the driver"),
                     "sudo nvidia-modprobe -c 0 -u"}}};
}

Finding forbidden(const DeviceFile& file) {
  return {.rule = "device_files_forbidden",
          .severity = Severity::error,
          .title = sentence("you may not open the GPU's device files"),
          .evidence = {sentence("{} is {} and you are neither its owner nor in its group",
                                file.path, file.mode)},
          .meaning = sentence("To a program without permission it looks as if there were no GPU."),
          .steps = {
              {sentence("ask the administrator to add you to the file's group, then log in again"),
               "ls -l /dev/nvidia*; id"}}};
}

Finding blocked(const DeviceFile& file) {
  return {.rule = "devices_taken_away",
          .severity = Severity::error,
          .title = sentence("the GPUs are blocked for this process although the files allow it"),
          .evidence = {sentence("opening {} ({}): operation not permitted", file.path, file.mode)},
          .meaning = sentence(
              "A control group forbids them. In a container that had its GPUs before, `systemctl "
              "daemon-reload` on the host does this. In a job, the scheduler gave it none."),
          .steps = {{sentence("in a container: start it again; with the device links or a CDI "
                              "runtime it does not happen again"),
                     "sudo nvidia-ctk system create-dev-char-symlinks --create-all"},
                    {sentence("in a job of a scheduler: ask it for a GPU"), ""}}};
}

Findings device_files(const Examined& host) {
  if (host.facts.kernel->is_wsl) return {};
  if (const DeviceFile* file = first_with(host, FileAccess::blocked)) return {blocked(*file)};
  if (driver_works(host)) return {};
  if (const DeviceFile* file = first_with(host, FileAccess::forbidden)) return {forbidden(*file)};
  if (!module_is_loaded(host) || is_container(host) || has_device_file(host, "/dev/nvidiactl"))
    return {};
  return {missing()};
}

}  // namespace

std::span<const DoctorRule> driver_rules() {
  static constexpr DoctorRule rules[] = {
      {.find = devices_not_seen,
       .reports =
           {{"devices_not_seen", "error",
             "the process that asks the driver and the kernel died or never came back, and how",
             "what it may use"}}},
      {.find = nouveau_driver,
       .reports = {{"nouveau_driver", "error", "nouveau is bound to the card",
                    "keep it from loading, install NVIDIA's"}}},
      {.find = no_driver,
       .reports = {{"no_driver", "error",
                    "no kernel driver is bound to an NVIDIA card; whether a module for the running "
                    "kernel exists",
                    "load it, have it built, install the driver"},
                   {"secure_boot", "error",
                    "Secure Boot is on, the module exists and is not loaded",
                    "read the kernel log; enrol the signing key"}}},
      {.find = driver_versions_differ,
       .reports = {{"driver_versions_differ", "error",
                    "NVML's \"version mismatch\"; the module's and the library's versions",
                    "reboot, or reload the modules"}}},
      {.find = driver_silent,
       .reports = {{"driver_silent", "error", "the module is loaded and NVML answers nothing",
                    "what NVML's answer asks for"}}},
      {.find = device_files,
       .needs = HostPart::kernel,
       .reports =
           {{"device_files_missing", "error", "the module is loaded, there is no /dev/nvidiactl",
             "nvidia-modprobe"},
            {"device_files_forbidden", "error", "the file's mode and group forbid it",
             "get into its group"},
            {"devices_taken_away", "error",
             "opening a file whose mode allows it is \"not permitted\"",
             "start the container again (after `systemctl daemon-reload`), ask the scheduler"}}},
  };
  return rules;
}

}  // namespace berth::doctor
