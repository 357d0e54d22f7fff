// Is a device idle, and for how long? Judged by the strongest evidence it has.

#include <algorithm>

#include "base/text.h"
#include "place/rules.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

std::chrono::milliseconds as_chrono(Milliseconds duration) {
  return std::chrono::milliseconds(duration.count());
}

Milliseconds watched(const Case& asked) {
  for (const auto& [device, duration] : asked.limits.watched_idle) {
    if (device == asked.device.id) return duration;
  }
  return Milliseconds{0};
}

Idleness not_idle(const Case& asked, Sentence text) {
  return {refuse(asked.device, Rule::not_idle, std::move(text)), {}};
}

Idleness unknown(const Case& asked, const Sentence& what) {
  return {refuse(asked.device, Rule::idle_unknown,
                 sentence("whether it is idle cannot be told: reading its {} failed", what)),
          {}};
}

/// `seen_idle`: how long the evidence itself reaches back.
Idleness idle_for_long_enough(const Case& asked, Milliseconds seen_idle, Sentence evidence) {
  const Milliseconds wanted = *asked.request.idle_for;
  const Milliseconds longest = std::max(seen_idle, watched(asked));
  if (longest >= wanted) return {std::nullopt, std::move(evidence)};
  return {refuse(asked.device, Rule::not_watched_long,
                 sentence("idle, but watched for {} of the {} asked for",
                          short_duration(as_chrono(longest)), short_duration(as_chrono(wanted)))),
          {}};
}

Idleness by_history(const Case& asked, const std::vector<UtilizationSample>& history,
                    Percent limit) {
  const Milliseconds window = *asked.request.idle_for;
  Milliseconds reach{0};
  for (const UtilizationSample& sample : history) {
    reach = std::max(reach, sample.age);
    if (sample.age > window || sample.busy <= limit) continue;
    return not_idle(
        asked, sentence("{} % busy {} ago, asked to be idle for {}", whole_number(sample.busy),
                        short_duration(as_chrono(sample.age)), short_duration(as_chrono(window))));
  }
  return idle_for_long_enough(asked, reach, sentence("idle by the driver's samples"));
}

}  // namespace

Idleness idleness_of(const Case& asked) {
  const Device& device = asked.device;
  const auto& occupants = asked.occupancy.occupants;
  const bool computes = std::any_of(occupants.begin(), occupants.end(),
                                    [](const Occupant& o) { return !is_background(*o.use); });
  const Percent limit = asked.request.max_utilization.value_or(most_load_of_nobody);

  const auto& history = device.utilization_history;
  if (!history.get() && history.why() == Absent::failed) {
    return unknown(asked, sentence("utilisation history"));
  }
  if (!computes && !occupants.empty()) {
    return {std::nullopt, sentence("idle but for a desktop")};
  }
  if (history.get() && !history.get()->empty()) return by_history(asked, *history.get(), limit);
  if (history.get() && !computes) {
    return {std::nullopt, sentence("idle: no process, nothing in the driver's history")};
  }

  const auto& now = device.utilization_gpu;
  if (now.get()) {
    const bool lies =
        !computes && *now.get() > most_load_of_nobody && !is_load_of_nobody(device, now);
    if (*now.get() > limit && !lies) {
      return not_idle(asked, sentence("{} % busy now", whole_number(*now.get())));
    }
    Sentence evidence = sentence("idle by its utilisation now");
    if (!computes) return {std::nullopt, std::move(evidence)};
    return idle_for_long_enough(asked, Milliseconds{0}, std::move(evidence));
  }
  if (now.why() == Absent::failed) return unknown(asked, sentence("utilisation"));
  if (computes) {
    return not_idle(asked, sentence("a process computes on it, and how busy cannot be read"));
  }
  return {std::nullopt, sentence("idle by its process list")};
}

}  // namespace berth
