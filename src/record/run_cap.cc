#include "record/run_cap.h"

namespace berth {

CapOutcome outcome_of(const RunCap& cap, const std::vector<std::optional<Bytes>>& promised,
                      const Summary& summary, bool simulated, const std::optional<CapSeen>& seen) {
  CapEvidence evidence{
      .promised = promised, .simulated = simulated, .shim = seen.value_or(CapSeen{})};
  for (const DeviceSummary& device : summary.devices) {
    evidence.highest.push_back(device.own_memory_peak);
  }
  CapOutcome outcome{.proof = proof_of(cap.tier, evidence)};
  for (std::size_t at = 0; at < promised.size(); ++at) {
    CapOnDevice device{.limit = promised[at],
                       .highest_measured = Absent::not_sampled,
                       .highest_charge = Absent::unsupported};
    if (at < summary.devices.size()) device.highest_measured = summary.devices[at].own_memory_peak;
    if (cap.tier == CapTier::shim) device.highest_charge = Absent::not_sampled;
    if (seen && at < seen->devices.size()) {
      device.highest_charge = seen->devices[at].highest_charge;
      device.refusals = seen->devices[at].refusals;
    }
    outcome.devices.push_back(device);
  }
  return outcome;
}

}  // namespace berth
