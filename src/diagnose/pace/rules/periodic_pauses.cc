// It stands still again and again, at even distances.

#include <fmt/format.h>

#include "diagnose/pace/advice.h"
#include "diagnose/pace/rules.h"
#include "diagnose/pace/words.h"

namespace berth::pace {

std::optional<Cause> periodic_pauses(const Seen& seen) {
  const Features& features = seen.features;
  const auto& pauses = features.phases.repeating;
  if (!pauses || pauses->share < seen.thresholds.pauses_share) return {};
  // Workers that never rest say why: the queue runs empty again and again.
  if (loaders_never_rest(features)) return {};
  const auto seconds = [](Milliseconds time) {
    return fmt::format("{:.1f}", static_cast<double>(time.count()) / 1000);
  };
  Finding finding{
      .rule = "periodic_pauses",
      .severity = Severity::warning,
      .title = sentence("the GPU stands still again and again: every {} s for {} s",
                        seconds(pauses->period), seconds(pauses->length)),
      .evidence = {sentence("{} pauses, {} of the time; between them a kernel ran {} of the time",
                            pauses->count, percent(pauses->share),
                            percent(features.phases.busy_between))},
      .meaning = sentence("That is how saving a checkpoint, an evaluation or the start of an epoch "
                          "looks."),
      .steps = advice(Advice::shorter_pauses, seen.activity.framework)};
  if (pauses->count < 3)
    finding.doubt = sentence("two pauses were seen: look for longer (--seconds)");
  return Cause{std::move(finding), pauses->share};
}

}  // namespace berth::pace
