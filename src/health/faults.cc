#include "health/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "health/health.h"
#include "health/rules.h"
#include "health/xid.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

/// The card whose health a device has; null where that is not judged.
const Device* card_of(const Device& device, const Snapshot& snapshot) {
  const Device* card = device.parent ? find_device(*device.parent, snapshot) : &device;
  return card != nullptr && is_examined(*card) ? card : nullptr;
}

std::vector<DeviceFault> failures_of(const Device& device, const Snapshot& snapshot) {
  std::vector<DeviceFault> faults;
  const Device* card = card_of(device, snapshot);
  if (card == nullptr) return faults;
  for (Finding& finding : health_of(*card, snapshot).findings) {
    if (finding.severity != Severity::error) continue;
    faults.push_back({device.id, card->lost ? FaultKind::lost : FaultKind::failed,
                      std::move(finding.rule), finding.evidence.front().english()});
  }
  return faults;
}

std::vector<DeviceFault> errors_of(const Device& device, const Snapshot& snapshot) {
  std::vector<DeviceFault> faults;
  const Device* card = card_of(device, snapshot);
  if (card == nullptr || !snapshot.xids.has_value() || !card->pci_address.has_value()) {
    return faults;
  }
  for (const XidEvent& event : *snapshot.xids.get()) {
    if (event.pci_address != *card->pci_address.get()) continue;
    const XidFacts facts = xid_facts(event.code);
    const bool is_the_jobs = health::severity_of(facts.action) == Severity::hint;
    faults.push_back({device.id, is_the_jobs ? FaultKind::job_error : FaultKind::error,
                      fmt::format("xid_{}", event.code),
                      fmt::format("XID {}: {}", event.code, facts.meaning), event.pid.get()});
  }
  return faults;
}

}  // namespace

std::vector<DeviceFault> failed_devices(const Snapshot& snapshot) {
  std::vector<DeviceFault> failed;
  for (const Device& device : snapshot.devices) {
    auto faults = failures_of(device, snapshot);
    if (!faults.empty()) failed.push_back(std::move(faults.front()));
  }
  return failed;
}

std::vector<DeviceFault> faults_of(const Snapshot& snapshot) {
  std::vector<DeviceFault> all;
  for (const Device& device : snapshot.devices) {
    std::ranges::move(failures_of(device, snapshot), std::back_inserter(all));
    std::ranges::move(errors_of(device, snapshot), std::back_inserter(all));
  }
  return all;
}

}  // namespace berth
