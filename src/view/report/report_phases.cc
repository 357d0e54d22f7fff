// What a run did when, as a report shades it.

#include <algorithm>
#include <functional>

#include "view/report/model.h"

namespace berth {

namespace {

constexpr std::size_t most_pauses = 100;

/// The longest, in the order of time.
std::vector<Stretch> chosen_pauses(std::vector<Stretch> pauses) {
  if (pauses.size() <= most_pauses) return pauses;
  std::ranges::stable_sort(pauses, std::greater{},
                           [](const Stretch& pause) { return pause.length().count(); });
  pauses.resize(most_pauses);
  std::ranges::sort(pauses, {}, [](const Stretch& pause) { return pause.from.count(); });
  return pauses;
}

}  // namespace

std::vector<ReportPhase> report_phases(const Phases& phases, std::span<const Sample> samples,
                                       WallTime started) {
  std::vector<ReportPhase> shown;
  const auto since_start = [&](Milliseconds at) {
    return wall_time(at, samples).unix_ms - started.unix_ms;
  };
  const auto add = [&](Milliseconds from, Milliseconds to, Sentence name) {
    if (to.count() <= from.count()) return;
    shown.push_back({since_start(from), since_start(to), std::move(name)});
  };
  if (phases.startup) add(phases.startup->from, phases.startup->to, sentence("start-up"));
  if (phases.working) {
    Milliseconds at = phases.working->from;
    for (const Stretch& pause : chosen_pauses(phases.pauses)) {
      add(at, pause.from, sentence("work"));
      add(pause.from, pause.to, sentence("pause"));
      at = pause.to;
    }
    add(at, phases.working->to, sentence("work"));
  }
  if (phases.tail) add(phases.tail->from, phases.tail->to, sentence("tail"));
  return shown;
}

}  // namespace berth
