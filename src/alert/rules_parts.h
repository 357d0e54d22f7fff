#pragma once
// The rules, by what they look at. Internal to alert/.

#include "alert/sightings.h"

namespace berth::alert {

/// One look on its way through the rules.
struct Round {
  const AlertLook& look;
  const AlertSettings& settings;
  Sightings& found;

  [[nodiscard]] bool wants(AlertRule rule) const { return settings.of(rule).is_on; }
  [[nodiscard]] std::uint64_t threshold(AlertRule rule) const {
    return settings.of(rule).threshold;
  }
};

// rules_device.cc: lost, memory waiting for repair, throttled, memory of nobody, idle holders
void see_devices(const Round& round);
// rules_event.cc
void see_xids(const Round& round);
void see_environment(const Round& round);
// rules_host.cc
void see_disks(const Round& round);
void see_sources(const Round& round);

}  // namespace berth::alert
