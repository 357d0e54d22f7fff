#include "diagnose/doctor/rules.h"

namespace berth::doctor {

Findings device_order_unknown(const Examined& host) {
  const auto order = host.world.variable("CUDA_DEVICE_ORDER");
  // The only GPU has the same number in every order.
  if (!order || order->empty() || working_gpus(host).size() < 2) return {};
  if (*order == "PCI_BUS_ID" || *order == "FASTEST_FIRST") return {};
  return {
      {.rule = "device_order_unknown",
       .severity = Severity::hint,
       .title = sentence("CUDA_DEVICE_ORDER has a word that CUDA does not know"),
       .evidence = {sentence("{}={}", "CUDA_DEVICE_ORDER", *order)},
       .meaning = sentence("CUDA knows PCI_BUS_ID and FASTEST_FIRST, spelt exactly so; with any "
                           "other word its numbers need not be nvidia-smi's."),
       .steps = {{sentence("count as nvidia-smi does, for good in ~/.profile"),
                  "export CUDA_DEVICE_ORDER=PCI_BUS_ID"}}}};
}

}  // namespace berth::doctor
