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

}  // namespace berth::doctor
