#include <cstddef>

#include "diagnose/doctor/rules.h"

namespace berth::doctor {

Findings cuda_order_differs(const Examined& host) {
  const auto& cuda = host.world.cuda;
  if (!cuda || cuda->devices.empty() || !driver_works(host)) return {};
  // With a list of its own the order is what somebody asked for.
  if (host.visible) return {};
  std::vector<Sentence> evidence;
  for (std::size_t i = 0; i < cuda->devices.size(); ++i) {
    const Device* device = device_of(cuda->devices[i], host.snapshot);
    if (device == nullptr || !device->index || device->kind != DeviceKind::nvidia_gpu) return {};
    if (static_cast<std::size_t>(*device->index) == i) continue;
    evidence.push_back(
        sentence("cuda:{} is nvidia-smi's {} ({})", i, *device->index, cuda->devices[i].name));
  }
  if (evidence.empty()) return {};
  return {
      {.rule = "cuda_order_differs",
       .severity = Severity::hint,
       .title = sentence("CUDA numbers the GPUs in another order than nvidia-smi"),
       .evidence = std::move(evidence),
       .meaning = sentence("Without CUDA_DEVICE_ORDER, CUDA puts the fastest card first; a number "
                           "read in nvidia-smi then names another card in a program."),
       .steps = {{sentence("count as nvidia-smi does, for good in ~/.profile"),
                  "export CUDA_DEVICE_ORDER=PCI_BUS_ID"}}}};
}

}  // namespace berth::doctor
