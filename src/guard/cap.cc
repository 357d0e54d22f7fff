#include "guard/cap.h"

#include <array>

namespace berth {

namespace {

/// Nothing: it can be had.
std::optional<Sentence> why_not(CapTier tier, const CapFacts& facts) {
  switch (tier) {
    case CapTier::kernel:
      return facts.no_kernel;
    case CapTier::mps:
      return facts.no_mps;
    case CapTier::shim:
      return facts.no_shim;
    case CapTier::watchdog:
    case CapTier::none:
      break;
  }
  return std::nullopt;
}

}  // namespace

Result<CapChoice> choose_cap(std::optional<CapTier> asked, const CapFacts& facts) {
  constexpr std::array strongest_first = {CapTier::kernel, CapTier::mps, CapTier::shim,
                                          CapTier::watchdog, CapTier::none};
  if (asked) {
    if (const auto why = why_not(*asked, facts)) {
      return fail(ErrorCode::unsupported,
                  "--cap {}: {}; --cap strongest takes the strongest tier there is",
                  word_of(*asked), *why);
    }
  }
  CapChoice choice;
  for (const CapTier tier : strongest_first) {
    auto why = why_not(tier, facts);
    if (asked ? tier == *asked : !why) {
      choice.tier = tier;
      break;
    }
    choice.stronger.emplace_back(tier,
                                 why ? *std::move(why) : sentence("a weaker tier was asked for"));
  }
  return choice;
}

}  // namespace berth
