#include "diagnose/bottleneck/activity.h"

namespace berth::bottleneck {

std::string_view name_of(Framework framework) {
  constexpr std::string_view names[] = {"", "torch", "tensorflow", "jax"};
  return names[static_cast<int>(framework)];
}

Framework framework_from_name(std::string_view name) {
  for (const Framework one : {Framework::torch, Framework::tensorflow, Framework::jax}) {
    if (name_of(one) == name) return one;
  }
  return Framework::unknown;
}

std::string_view name_of(TakenBy by) { return by == TakenBy::watch ? "watch" : "run_samples"; }

Milliseconds span_of(const Activity& activity) {
  Milliseconds whole{0};
  for (const ActivitySample& step : activity.steps) whole += step.span;
  return whole;
}

}  // namespace berth::bottleneck
