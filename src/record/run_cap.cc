#include "record/run_cap.h"

#include <algorithm>

#include "base/tr.h"

namespace berth {

namespace {

constexpr std::string_view not_seen = as_key("none of its processes was seen on a device");
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
    proof = {Proved::unknown, std::string(not_seen)};
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

/// A shim charges before the driver gives; a tenth and a context more is what it cannot see.
bool is_far_above(const Bytes& measured, const Bytes& charged) {
  constexpr std::uint64_t unseen = 512ULL << 20;
  return measured.count() > charged.count() + charged.count() / 10 + unseen;
}

CapProof proof_of_shim(const Summary& summary, const CapSeen& seen) {
  if (!seen.gap.empty()) return {Proved::no, seen.gap};
  if (!seen.in_processes) return {Proved::unknown, std::string(not_seen)};
  for (std::size_t at = 0; at < std::min(summary.devices.size(), seen.devices.size()); ++at) {
    const auto& measured = summary.devices[at].own_memory_peak.get();
    if (measured && is_far_above(*measured, seen.devices[at].highest_charge)) {
      return {Proved::no, std::string(as_key("the driver measured more than the shim charged"))};
    }
  }
  return {Proved::yes, ""};
}

/// A client of our own was refused above its limit before the job began. Whether the job went by
/// the same server, its memory tells.
CapProof proof_of_mps(const std::vector<std::optional<Bytes>>& promised, const Summary& summary) {
  CapProof proof{Proved::unknown, std::string(not_seen)};
  for (std::size_t at = 0; at < std::min(summary.devices.size(), promised.size()); ++at) {
    const auto& measured = summary.devices[at].own_memory_peak.get();
    if (!measured || !promised[at]) continue;
    if (is_far_above(*measured, *promised[at])) {
      return {Proved::no, std::string(as_key("the driver measured more than the limit"))};
    }
    proof = {Proved::yes, ""};
  }
  return proof;
}

CapProof proof_of(const RunCap& cap, const std::vector<std::optional<Bytes>>& promised,
                  const Summary& summary, bool simulated, const std::optional<CapSeen>& seen) {
  if (cap.tier == CapTier::none) return {Proved::no, "nothing holds it, as --cap none says"};
  if (simulated) return {Proved::unknown, "the figures are simulated"};
  if (cap.tier == CapTier::watchdog) return proof_of_watchdog(summary);
  if (cap.tier == CapTier::shim) return proof_of_shim(summary, seen.value_or(CapSeen{}));
  if (cap.tier == CapTier::mps) return proof_of_mps(promised, summary);
  return {Proved::unknown, "whether this tier held it is not known"};
}

}  // namespace

CapOutcome outcome_of(const RunCap& cap, const std::vector<std::optional<Bytes>>& promised,
                      const Summary& summary, bool simulated, const std::optional<CapSeen>& seen) {
  CapOutcome outcome{.proof = proof_of(cap, promised, summary, simulated, seen), .devices = {}};
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
