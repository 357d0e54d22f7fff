#include "snapshot/heat.h"

#include <algorithm>

namespace berth {

namespace {

std::optional<Heat> heat_told_by_driver(const Device& device) {
  const auto& reasons = device.throttle_reasons.get();
  if (!reasons) return std::nullopt;
  if (has_any(*reasons, ClockReason::hardware_thermal)) return Heat::hot;
  if (has_any(*reasons, ClockReason::driver_thermal)) return Heat::warm;
  return std::nullopt;
}

}  // namespace

std::optional<Celsius> degrees_to_slowdown(const Device& device) {
  const auto& limit = device.temperature_slowdown.get();
  const auto& now = device.temperature.get();
  if (now && limit) return Celsius(limit->count() - now->count());
  // Hopper and newer count downwards from a limit, and do not tell its degrees.
  const auto left = device.details.get<Celsius>(Detail::temperature_limit_margin);
  const auto slows_at = device.details.get<Celsius>(Detail::temperature_slowdown_margin);
  if (!left.get() || !slows_at.get()) return std::nullopt;
  return Celsius(left.get()->count() - slows_at.get()->count());
}

std::optional<Heat> heat_of(const Device& device) {
  constexpr Celsius near{5};
  const std::optional<Heat> told = heat_told_by_driver(device);
  const std::optional<Celsius> left = degrees_to_slowdown(device);
  if (!left) return told;
  const Heat read = is_hot(*left) ? Heat::hot : *left <= near ? Heat::warm : Heat::normal;
  return std::max(read, told.value_or(Heat::normal));
}

Wanted wanted_by_heat() {
  using D = Device;
  Wanted wanted;
  wanted.add<&D::temperature, &D::temperature_slowdown, &D::throttle_reasons>();
  return wanted.add(Detail::temperature_limit_margin).add(Detail::temperature_slowdown_margin);
}

std::string_view name_of(Heat heat) {
  switch (heat) {
    case Heat::normal:
      return "normal";
    case Heat::warm:
      return "warm";
    case Heat::hot:
      return "hot";
  }
  return "normal";
}

}  // namespace berth
