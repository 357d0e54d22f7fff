#pragma once
// Phases: what a job's GPU time looks like from afar. Start-up lasts until the GPU first works.
// Then comes steady work, with pauses that repeat (checkpoints, evaluation). In the tail it works
// no more. A pure function of how busy the GPUs were and when. So ten seconds of watching and the
// record of two days are judged alike.

#include <optional>
#include <span>
#include <vector>

#include "base/units.h"
#include "record/sample.h"

namespace berth {

/// How busy a job's devices were between `from` and `to`, counted from the series' beginning.
struct LoadPoint {
  Milliseconds from;
  Milliseconds to;
  double busy = 0;  // share of the time in which a kernel ran, mean of the devices; 0 to 1
};

/// One point per sample, from the sample before to its own: the mean of the devices' readings.
/// Samples without any device's utilisation are left out. So is a time of more than a minute
/// between two samples (the machine slept).
[[nodiscard]] std::vector<LoadPoint> load_points(std::span<const Sample> samples);

/// When a point in such a series was, in which the times left out do not count.
[[nodiscard]] WallTime wall_time(Milliseconds at, std::span<const Sample> samples);

struct PhaseLimits {
  /// Below this share of how busy the GPUs are when they work, they stand still.
  double still_share = 0.4;
  /// A shorter stretch of stillness is a gap and no pause.
  Milliseconds shortest_pause{1000};
  /// How far the distances between pauses may differ from their middle one.
  double period_scatter = 0.35;
  /// Idle for at most this share between pauses: else nothing says that they are what costs.
  double idle_between = 0.25;
};

struct Stretch {
  Milliseconds from;
  Milliseconds to;
  [[nodiscard]] Milliseconds length() const { return Milliseconds(to.count() - from.count()); }
};

/// Whether this time lies in one of such stretches, which are in order and apart.
[[nodiscard]] bool is_within_one(Milliseconds from, Milliseconds to,
                                 const std::vector<Stretch>& stretches);

/// Pauses that repeat at about the same distance.
struct RepeatingPauses {
  std::size_t count = 0;
  Milliseconds period;  // from beginning to beginning, the middle one
  Milliseconds length;  // the middle one
  double share = 0;     // of the time from the first work to the last
};

struct Phases {
  Milliseconds whole{0};
  std::optional<Stretch> startup;  // before the first work
  std::optional<Stretch> working;  // from the first work to the last; nothing: there was none
  std::optional<Stretch> tail;     // after the last
  std::vector<Stretch> pauses;     // within `working`, in their order
  /// Nothing: fewer than two, at irregular distances, or the GPUs stand still between them too.
  std::optional<RepeatingPauses> repeating;
  double busy_between = 0;  // mean over `working` without its pauses
};

[[nodiscard]] Phases phases_of(std::span<const LoadPoint> points, const PhaseLimits& limits = {});

}  // namespace berth
