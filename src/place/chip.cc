// What a request asks of a device's chip: --min-compute and --need.

#include <algorithm>

#include "place/key_text.h"
#include "place/rules.h"
#include "snapshot/device_kind.h"

namespace berth {

namespace {
bool has_no_capability(const Device& device) {
  return !facts_of(device.kind).has_capability && !device.compute_capability.get();
}

/// A capability that is not known because reading failed may be known next time.
std::optional<Refusal> capable(const Case& asked, ComputeCapability least, Rule rule,
                               const Sentence& wanted_for) {
  const auto& has = asked.device.compute_capability;
  if (!has.get()) {
    return refuse(asked.device, rule,
                  sentence("compute capability unknown ({}), {} is needed",
                           Sentence(reason_of(has.why())), wanted_for),
                  has.why() == Absent::failed);
  }
  if (*has.get() >= least) return std::nullopt;
  return refuse(asked.device, rule,
                sentence("compute capability {}.{}, {} is needed", has.get()->major,
                         has.get()->minor, wanted_for),
                false);
}
}  // namespace

std::optional<Refusal> lacking(const Case& asked) {
  if (asked.request.min_compute && has_no_capability(asked.device)) {
    return refuse(asked.device, Rule::too_old,
                  sentence("it has no compute capability: leave --min-compute out"), false);
  }
  if (asked.request.min_compute) {
    const ComputeCapability least = *asked.request.min_compute;
    const auto verdict =
        capable(asked, least, Rule::too_old, Sentence::as_is(capability_text(least)));
    if (verdict) return verdict;
  }
  for (const Need need : asked.request.needs) {
    const NeedFacts& facts = facts_of(need);
    const auto& chip = asked.device.architecture.get();
    if (chip && chip->starts_with("gfx")) {
      const bool has_it = std::ranges::any_of(
          facts.chips, [&](std::string_view name) { return chip->starts_with(name); });
      if (has_it) continue;
      return refuse(asked.device, Rule::lacks_feature, sentence("{} has no {}", *chip, facts.word),
                    false);
    }
    if (has_no_capability(asked.device)) {
      return refuse(asked.device, Rule::lacks_feature,
                    sentence("whether it has {} is not known: leave --need out", facts.word),
                    !chip && asked.device.architecture.why() == Absent::failed);
    }
    const auto verdict = capable(asked, facts.since, Rule::lacks_feature,
                                 sentence("{} (for {})", capability_text(facts.since), facts.word));
    if (verdict) return verdict;
  }
  return std::nullopt;
}

}  // namespace berth
