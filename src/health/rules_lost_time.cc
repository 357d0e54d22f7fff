// Time lost to slowing down, from the driver's own counters.

#include <fmt/format.h>

#include <array>
#include <chrono>

#include "base/text.h"
#include "health/rules.h"

namespace berth::health {

namespace {

// Never more than a notice: a time that has passed is nothing to stop a job for, and what slows the
// card down now is found by throttling(). A minute in the hands of the hardware is worth knowing;
// the driver's own heat control keeps a card at its limit through a hot afternoon, and the power
// limit holds back each card that is fully used: that is said only of much time, so that whoever
// asks where the speed went finds it. Sync boost is what somebody set up.
struct LostTimeRow {
  Detail lost;
  Detail since_the_look_before;
  std::uint64_t worth_saying_s;
  std::string_view code;
  std::string_view advice;
};
constexpr auto lost_time_rows = std::to_array<LostTimeRow>({
    {Detail::throttled_hardware_thermal, Detail::window_throttled_hardware_thermal, 60,
     "time_lost_to_heat", "look at fans, dust and the air of the room"},
    {Detail::throttled_power_brake, Detail::window_throttled_power_brake, 60,
     "time_lost_to_power_brake", "look at the power supply and its cables"},
    {Detail::throttled_software_thermal, Detail::window_throttled_software_thermal, 600,
     "time_lost_to_heat_control", "look at fans, dust and the air of the room"},
    {Detail::throttled_power_cap, Detail::window_throttled_power_cap, 3600,
     "time_lost_to_power_limit",
     "normal under full load; nvidia-smi -q -d POWER shows whether somebody lowered the limit"},
});

std::string evidence_of(Detail lost, const std::string& time) {
  if (lost == Detail::throttled_hardware_thermal) {
    return fmt::format("the hardware slowed it down for its heat for {} since the driver loaded",
                       time);
  }
  if (lost == Detail::throttled_power_brake) {
    return fmt::format("its power supply held it back for {} since the driver loaded", time);
  }
  if (lost == Detail::throttled_software_thermal) {
    return fmt::format("the driver slowed it down for its heat for {} since it loaded", time);
  }
  return fmt::format("its power limit held it back for {} since the driver loaded", time);
}

std::string in_words(Microseconds time) {
  return short_duration(std::chrono::milliseconds(time.count() / 1000));
}

}  // namespace

Findings lost_time(const Device& device, const Snapshot&) {
  Findings findings;
  for (const LostTimeRow& row : lost_time_rows) {
    const auto lost = device.details.get<Microseconds>(row.lost);
    constexpr std::uint64_t us_per_second = 1'000'000;
    if (!lost.get() || lost.get()->count() < row.worth_saying_s * us_per_second) continue;
    std::string evidence = evidence_of(row.lost, in_words(*lost.get()));
    const auto lately = device.details.get<Microseconds>(row.since_the_look_before);
    if (lately.get() && lately.get()->count() >= us_per_second) {
      evidence += ": " + fmt::format("{} of that since the look before", in_words(*lately.get()));
    }
    findings.push_back(
        {HealthState::notice, std::string(row.code), std::move(evidence), std::string(row.advice)});
  }
  return findings;
}

}  // namespace berth::health
