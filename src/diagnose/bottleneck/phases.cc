#include "diagnose/bottleneck/phases.h"

#include <algorithm>
#include <cmath>

namespace berth {

namespace {

double milliseconds_of(const LoadPoint& point) {
  return static_cast<double>(point.to.count() - point.from.count());
}

/// How busy the GPUs are when they work: nine tenths of the points are at most as busy.
double working_level(std::span<const LoadPoint> points) {
  std::vector<double> levels;
  for (const LoadPoint& point : points) levels.push_back(point.busy);
  std::sort(levels.begin(), levels.end());
  return levels.empty() ? 0 : levels[(levels.size() - 1) * 9 / 10];
}

/// Means of the points within a stretch; of the time outside the pauses alone where told so.
double mean_busy(std::span<const LoadPoint> points, const Stretch& in,
                 const std::vector<Stretch>& without) {
  double busy = 0;
  double time = 0;
  for (const LoadPoint& point : points) {
    if (point.from < in.from || point.to > in.to) continue;
    if (is_within_one(point.from, point.to, without)) continue;
    busy += point.busy * milliseconds_of(point);
    time += milliseconds_of(point);
  }
  return time > 0 ? busy / time : 0;
}

/// The part of a point beside a stillness that belongs to it: a pause begins and ends within
/// points.
std::int64_t still_part(const LoadPoint& point, double level) {
  const double share = std::clamp(1 - point.busy / level, 0.0, 1.0);
  // Nobody works at one level all the time.
  constexpr double noise = 0.1;
  return share > noise ? static_cast<std::int64_t>(share * milliseconds_of(point)) : 0;
}

/// Stretches of points that `is_still`, reaching into the points beside them.
template <class IsStill>
std::vector<Stretch> still_stretches(std::span<const LoadPoint> points, double level,
                                     const IsStill& is_still) {
  std::vector<Stretch> stills;
  for (std::size_t i = 0; i < points.size();) {
    if (!is_still(points[i])) {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    while (end < points.size() && is_still(points[end]) && points[end].from == points[end - 1].to) {
      ++end;
    }
    Stretch still{points[i].from, points[end - 1].to};
    if (i > 0 && points[i - 1].to == still.from) {
      still.from = Milliseconds(still.from.count() - still_part(points[i - 1], level));
    }
    if (end < points.size() && points[end].from == still.to) {
      still.to = Milliseconds(still.to.count() + still_part(points[end], level));
    }
    stills.push_back(still);
    i = end;
  }
  return stills;
}

std::int64_t middle(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::optional<RepeatingPauses> repeating_in(const std::vector<Stretch>& pauses,
                                            const Stretch& working, const PhaseLimits& limits) {
  if (pauses.size() < 2) return std::nullopt;
  std::vector<std::int64_t> distances;
  std::vector<std::int64_t> lengths;
  double paused = 0;
  for (std::size_t i = 0; i < pauses.size(); ++i) {
    lengths.push_back(pauses[i].length().count());
    paused += static_cast<double>(lengths.back());
    if (i > 0) distances.push_back(pauses[i].from.count() - pauses[i - 1].from.count());
  }
  const std::int64_t period = middle(distances);
  std::size_t regular = 0;
  for (const std::int64_t distance : distances) {
    const double off = std::abs(static_cast<double>(distance - period));
    if (off <= limits.period_scatter * static_cast<double>(period)) ++regular;
  }
  // One in five may be late: an evaluation that was put off, a checkpoint that failed.
  if (regular * 5 < distances.size() * 4) return std::nullopt;
  return RepeatingPauses{.count = pauses.size(),
                         .period = Milliseconds(period),
                         .length = Milliseconds(middle(lengths)),
                         .share = paused / static_cast<double>(working.length().count())};
}

/// The machine slept, or the samples are in disorder.
bool is_left_out(std::int64_t span_ms) {
  constexpr std::int64_t longest_gap = 60'000;
  return span_ms <= 0 || span_ms > longest_gap;
}

}  // namespace

bool is_within_one(Milliseconds from, Milliseconds to, const std::vector<Stretch>& stretches) {
  auto after = std::ranges::upper_bound(stretches, from.count(), {},
                                        [](const Stretch& one) { return one.from.count(); });
  return after != stretches.begin() && to <= (--after)->to;
}

std::vector<LoadPoint> load_points(std::span<const Sample> samples) {
  std::vector<LoadPoint> points;
  std::int64_t time = 0;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const std::int64_t span = samples[i].at.unix_ms - samples[i - 1].at.unix_ms;
    if (is_left_out(span)) continue;
    double sum = 0;
    int known = 0;
    for (const DeviceSample& device : samples[i].devices) {
      if (!device.utilization_gpu.get()) continue;
      sum += device.utilization_gpu.get()->count() / 100;
      ++known;
    }
    const std::int64_t from = time;
    time += span;
    if (known > 0) points.push_back({Milliseconds(from), Milliseconds(time), sum / known});
  }
  return points;
}

WallTime wall_time(Milliseconds at, std::span<const Sample> samples) {
  if (samples.empty()) return {};
  std::int64_t left = at.count();
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const std::int64_t span = samples[i].at.unix_ms - samples[i - 1].at.unix_ms;
    if (is_left_out(span)) continue;
    if (left <= span) return {samples[i - 1].at.unix_ms + left};
    left -= span;
  }
  return samples.back().at;
}

Phases phases_of(std::span<const LoadPoint> points, const PhaseLimits& limits) {
  Phases phases;
  if (points.empty()) return phases;
  const Milliseconds begin = points.front().from;
  const Milliseconds end = points.back().to;
  phases.whole = Stretch{begin, end}.length();
  const double level = working_level(points);
  // A level at which nothing can be told from nothing.
  constexpr double least_level = 0.05;
  const auto is_still = [&](const LoadPoint& point) {
    return level < least_level || point.busy < limits.still_share * level;
  };
  for (const LoadPoint& point : points) {
    if (is_still(point)) continue;
    if (!phases.working) phases.working = Stretch{point.from, point.to};
    phases.working->to = point.to;
  }
  if (!phases.working) return phases;
  const Stretch working = *phases.working;
  if (working.from > begin) phases.startup = Stretch{begin, working.from};
  if (working.to < end) phases.tail = Stretch{working.to, end};
  for (const Stretch& still : still_stretches(points, level, is_still)) {
    const bool inside = still.from > working.from && still.to < working.to;
    if (inside && still.length() >= limits.shortest_pause) phases.pauses.push_back(still);
  }
  phases.busy_between = mean_busy(points, working, phases.pauses);
  if (phases.busy_between >= 1 - limits.idle_between) {
    phases.repeating = repeating_in(phases.pauses, working, limits);
  }
  return phases;
}

}  // namespace berth
