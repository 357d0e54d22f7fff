// No kernel runs while data goes over the PCIe link.

#include "diagnose/pace/advice.h"
#include "diagnose/pace/questions.h"
#include "diagnose/pace/rules.h"
#include "diagnose/pace/words.h"

namespace berth::pace {

std::optional<Cause> host_device_copies(const Seen& seen) {
  const Features& features = seen.features;
  if (!gpu_waits(seen)) return {};
  const DeviceLoad* busiest = nullptr;
  for (const DeviceLoad& device : features.devices) {
    if (!device.pcie_rate) continue;
    if (busiest == nullptr || *device.pcie_rate > *busiest->pcie_rate) busiest = &device;
  }
  if (busiest == nullptr) return {};
  const bool much = busiest->pcie.value_or(0) >= seen.thresholds.pcie_share ||
                    *busiest->pcie_rate >= seen.thresholds.pcie_rate;
  if (!much) return {};
  const std::string rate = size_rate(*busiest->pcie_rate);
  const bool receives = busiest->receives;
  Sentence traffic = receives ? sentence("{} go to the device", rate)
                              : sentence("{} come back from the device", rate);
  if (busiest->pcie) {
    const std::string share = percent(*busiest->pcie);
    traffic = receives
                  ? sentence("{} go to the device, {} of what its PCIe link carries", rate, share)
                  : sentence("{} come back from the device, {} of what its PCIe link carries", rate,
                             share);
  }
  return Cause{{.rule = "host_device_copies",
                .severity = Severity::warning,
                .title = sentence("the time goes into copies between host and device"),
                .evidence = {busy_sentence(seen), std::move(traffic)},
                .meaning = sentence(
                    "Copies from ordinary (pageable) memory reach a fraction of the link, and "
                    "no kernel runs meanwhile."),
                .steps = advice(Advice::pinned_copies, seen.activity.framework),
                .doubt = {}},
               features.idle()};
}

}  // namespace berth::pace
