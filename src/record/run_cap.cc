#include "record/run_cap.h"

#include "base/tr.h"

namespace berth {

namespace {

constexpr std::string_view unread = as_key("the memory of its processes was not read");

CapProof proof_of_watchdog(const Summary& summary) {
  if (summary.devices.empty()) return {Proved::unknown, "nothing was sampled yet"};
  CapProof proof{Proved::yes, ""};
  for (const DeviceSummary& device : summary.devices) {
    const Reading<Bytes>& own = device.own_memory_peak;
    if (own.has_value()) continue;
    if (own.why() != Absent::not_sampled) {
      return {Proved::no, std::string(unread) + ": " + std::string(reason_of(own.why()))};
    }
    proof = {Proved::unknown, "none of its processes was seen on a device"};
  }
  return proof;
}

}  // namespace

std::string_view word_of(Proved proved) {
  switch (proved) {
    case Proved::yes:
      return "yes";
    case Proved::no:
      return "no";
    case Proved::unknown:
      return "unknown";
  }
  return "unknown";
}

namespace {

CapProof proof_of(const RunCap& cap, const Summary& summary, bool simulated) {
  if (cap.tier == CapTier::none) return {Proved::no, "nothing holds it, as --cap none says"};
  if (simulated) return {Proved::unknown, "the figures are simulated"};
  if (cap.tier == CapTier::watchdog) return proof_of_watchdog(summary);
  return {Proved::unknown, "whether this tier held it is not known"};
}

}  // namespace

CapOutcome outcome_of(const RunCap& cap, const std::vector<std::optional<Bytes>>& promised,
                      const Summary& summary, bool simulated) {
  CapOutcome outcome{.proof = proof_of(cap, summary, simulated), .devices = {}};
  for (std::size_t at = 0; at < promised.size(); ++at) {
    CapOnDevice device{.limit = promised[at],
                       .highest_measured = Absent::not_sampled,
                       .highest_charge = Absent::unsupported};
    if (at < summary.devices.size()) device.highest_measured = summary.devices[at].own_memory_peak;
    outcome.devices.push_back(device);
  }
  return outcome;
}

}  // namespace berth
