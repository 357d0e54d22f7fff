#include "guard/cap_proof.h"

#include <algorithm>

#include "base/tr.h"
#include "guard/cap.h"

namespace berth {

namespace {

constexpr std::string_view not_seen = as_key("none of its processes was seen on a device");
constexpr std::string_view unread = as_key("the memory of its processes was not read");

CapProof proof_of_watchdog(const CapEvidence& evidence) {
  if (evidence.highest.empty()) return {Proved::unknown, sentence("nothing was sampled yet")};
  CapProof proof{Proved::yes, {}};
  for (const Reading<Bytes>& own : evidence.highest) {
    if (own.has_value()) continue;
    if (own.why() != Absent::not_sampled) {
      return {Proved::no, sentence("{}: {}", Sentence(unread), Sentence(reason_of(own.why())))};
    }
    proof = {Proved::unknown, Sentence(not_seen)};
  }
  return proof;
}

CapProof proof_of_shim(const CapEvidence& evidence) {
  const CapSeen& seen = evidence.shim;
  if (!seen.gap.empty()) return {Proved::no, seen.gap};
  if (!seen.in_processes) return {Proved::unknown, Sentence(not_seen)};
  for (std::size_t at = 0; at < std::min(evidence.highest.size(), seen.devices.size()); ++at) {
    const auto& measured = evidence.highest[at].get();
    if (measured && is_far_above(*measured, seen.devices[at].highest_charge)) {
      return {Proved::no, sentence("the driver measured more than the shim charged")};
    }
  }
  return {Proved::yes, {}};
}

/// The limit was seen before the job began: the kernel's was read, and MPS refused a client of ours
/// above it. Whether the job went by it, its memory tells.
CapProof proof_of_limit(const CapEvidence& evidence) {
  CapProof proof{Proved::unknown, Sentence(not_seen)};
  for (std::size_t at = 0; at < std::min(evidence.highest.size(), evidence.promised.size()); ++at) {
    const auto& measured = evidence.highest[at].get();
    if (!measured || !evidence.promised[at]) continue;
    if (is_far_above(*measured, *evidence.promised[at])) {
      return {Proved::no, sentence("the driver measured more than the limit")};
    }
    proof = {Proved::yes, {}};
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

bool is_far_above(Bytes measured, Bytes counted) {
  return measured.count() > counted.count() + counted.count() / 10 + usual_of_a_context.count();
}

CapProof proof_of(CapTier tier, const CapEvidence& evidence) {
  if (tier == CapTier::none) return {Proved::no, sentence("nothing holds it, as --cap none says")};
  if (evidence.simulated) return {Proved::unknown, sentence("the figures are simulated")};
  if (tier == CapTier::watchdog) return proof_of_watchdog(evidence);
  if (tier == CapTier::shim) return proof_of_shim(evidence);
  return proof_of_limit(evidence);
}

}  // namespace berth
