// What holds a device back: heat, power, the time lost to them, and the links it hangs on.

#include <array>
#include <chrono>

#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"
#include "health/rules.h"
#include "snapshot/heat.h"
#include "snapshot/questions.h"

namespace berth::health {

namespace {

struct Reason {
  ClockReason reason;
  bool of_hardware;  // a cause of hardware_slowdown
  Severity severity;
  std::string_view code;
  std::string_view what;
  std::string_view advice;
};
constexpr auto reasons = std::to_array<Reason>({
    {ClockReason::hardware_thermal, true, Severity::warning, "hardware_thermal_slowdown",
     as_key("the hardware slows it down: too hot"),
     as_key("look at fans, dust and the air of the room")},
    {ClockReason::power_brake, true, Severity::warning, "power_brake",
     as_key("the hardware slows it down: the power supply asks for it"),
     as_key("look at the power supply and its cables")},
    {ClockReason::driver_thermal, false, Severity::hint, "software_thermal_slowdown",
     as_key("the driver slows it down: close to its highest temperature"),
     as_key("look at fans, dust and the air of the room")},
});

bool is_under_load(const Device& device) {
  return device.utilization_gpu.has_value() && *device.utilization_gpu.get() > Percent(20.0);
}

static_assert(is_hot(Celsius{0}) && !is_hot(Celsius{1}),
              "the words of too_hot say where that begins: here, in the table below and in "
              "web/src/words/findings.ts");

// By the card's own limits: those of two cards of one model differ by their firmware.
Findings heat(const Device& device, const Snapshot&) {
  const auto left = degrees_to_slowdown(device);
  if (!left || !is_hot(*left)) return {};
  const auto& limit = device.temperature_slowdown.get();
  const bool is_absolute = device.temperature.get() && limit;
  Sentence evidence = is_absolute
                          ? sentence("it is at {} °C and slows itself down from {} °C on",
                                     device.temperature.get()->count(), limit->count())
                          : sentence("it is {} °C past where it slows itself down", -left->count());
  return {found(Severity::warning, "too_hot", std::move(evidence),
                sentence("look at fans, dust and the air of the room"))};
}

Findings throttling(const Device& device, const Snapshot&) {
  if (!device.throttle_reasons.has_value()) return {};
  const ClockReasons told = *device.throttle_reasons.get();
  Findings findings;
  bool has_cause = false;  // of a slowdown by the hardware
  for (const Reason& reason : reasons) {
    if (!has_any(told, reason.reason)) continue;
    has_cause = has_cause || reason.of_hardware;
    findings.push_back(
        found(reason.severity, reason.code, Sentence(reason.what), Sentence(reason.advice)));
  }
  // Hardware slowdown is said along with its cause. Without a cause it is said alone, also beside
  // the driver's own slowdowns.
  if (!has_cause && has_any(told, ClockReason::hardware)) {
    findings.push_back(found(Severity::warning, "hardware_slowdown",
                             sentence("the hardware slows it down: heat or power"),
                             sentence("look at temperature and power supply")));
  }
  return findings;
}

// Never more than a notice: a time that has passed is nothing to stop a job for. throttling() finds
// what slows the card down now. A minute of hardware slowdown is worth knowing. Heat control and
// the power limit work all day on a busy card, so only much time is told. Sync boost is what
// somebody set up.
struct LostTimeRow {
  Detail lost;
  Detail since_the_look_before;
  std::uint64_t worth_saying_s;
  std::string_view code;
  std::string_view advice;
};
constexpr auto lost_time_rows = std::to_array<LostTimeRow>({
    {Detail::throttled_hardware_thermal, Detail::window_throttled_hardware_thermal, 60,
     "time_lost_to_heat", as_key("look at fans, dust and the air of the room")},
    {Detail::throttled_power_brake, Detail::window_throttled_power_brake, 60,
     "time_lost_to_power_brake", as_key("look at the power supply and its cables")},
    {Detail::throttled_software_thermal, Detail::window_throttled_software_thermal, 600,
     "time_lost_to_heat_control", as_key("look at fans, dust and the air of the room")},
    {Detail::throttled_power_cap, Detail::window_throttled_power_cap, 3600,
     "time_lost_to_power_limit",
     as_key("normal under full load; nvidia-smi -q -d POWER shows whether somebody lowered the "
            "limit")},
});

Sentence evidence_of(Detail lost, const std::string& time) {
  if (lost == Detail::throttled_hardware_thermal) {
    return sentence("the hardware slowed it down for its heat for {} since the driver loaded",
                    time);
  }
  if (lost == Detail::throttled_power_brake) {
    return sentence("its power supply held it back for {} since the driver loaded", time);
  }
  if (lost == Detail::throttled_software_thermal) {
    return sentence("the driver slowed it down for its heat for {} since it loaded", time);
  }
  return sentence("its power limit held it back for {} since the driver loaded", time);
}

std::string in_words(Microseconds time) {
  return short_duration(std::chrono::milliseconds(time.count() / 1000));
}

Findings lost_time(const Device& device, const Snapshot&) {
  Findings findings;
  for (const LostTimeRow& row : lost_time_rows) {
    const auto lost = device.details.get<Microseconds>(row.lost);
    constexpr std::uint64_t us_per_second = 1'000'000;
    if (!lost.get() || lost.get()->count() < row.worth_saying_s * us_per_second) continue;
    Sentence evidence = evidence_of(row.lost, in_words(*lost.get()));
    const auto lately = device.details.get<Microseconds>(row.since_the_look_before);
    if (lately.get() && lately.get()->count() >= us_per_second) {
      evidence = sentence("{}: {}", evidence,
                          sentence("{} of that since the look before", in_words(*lately.get())));
    }
    findings.push_back(found(Severity::hint, row.code, std::move(evidence), Sentence(row.advice)));
  }
  return findings;
}

// An idle link may run slower and narrower to save power (nvidia-smi's help says it of both). It
// tells something only under load. Generations change all the time, lanes on few cards. So fewer
// lanes are worth a word before there is load.
Findings pcie_link(const Device& device, const Snapshot&) {
  Findings findings;
  const bool loaded = is_under_load(device);
  const auto& width = device.pcie_width;
  const auto& best_width = device.pcie_width_max;
  const bool narrow =
      width.has_value() && best_width.has_value() && *width.get() < *best_width.get();
  if (narrow && loaded) {
    findings.push_back(
        found(Severity::warning, "pcie_width",
              sentence("PCIe runs with {} of {} lanes under load", *width.get(), *best_width.get()),
              sentence("look at the slot, the riser and the seating of the card")));
  } else if (narrow) {
    findings.push_back(
        found(Severity::hint, "pcie_width",
              sentence("PCIe runs with {} of {} lanes", *width.get(), *best_width.get()),
              sentence("look again under load: idle, some cards narrow the link themselves")));
  }
  const auto& generation = device.pcie_generation;
  const auto& best = device.pcie_generation_max;
  if (generation.has_value() && best.has_value() && *generation.get() < *best.get() && loaded) {
    findings.push_back(found(
        Severity::warning, "pcie_generation",
        sentence("PCIe runs at generation {} of {} under load", *generation.get(), *best.get()),
        sentence("look at the slot, the riser and the BIOS setting")));
  }
  return findings;
}

Findings pcie_replays(const Device& device, const Snapshot&) {
  constexpr std::uint64_t many = 1000;
  if (!device.pcie_replays.has_value() || *device.pcie_replays.get() < many) return {};
  return {found(Severity::hint, "pcie_replays",
                sentence("{} PCIe packets had to be sent again since the driver loaded",
                         *device.pcie_replays.get()),
                sentence("many at once: look at the riser and the seating of the card"))};
}

Findings fabric(const Device& device, const Snapshot&) {
  const auto state = device.details.get<std::string>(Detail::fabric_state);
  const auto health = device.details.get<std::string>(Detail::fabric_health_summary);
  Findings findings;
  if (state.has_value() && *state.get() == "In Progress") {
    findings.push_back(found(Severity::warning, "fabric_not_ready",
                             sentence("the NVLink fabric has not taken it in yet"),
                             sentence("systemctl status nvidia-fabricmanager")));
  }
  if (health.has_value() && (*health.get() == "Unhealthy" || *health.get() == "Limited Capacity")) {
    findings.push_back(found(Severity::warning, "fabric_health",
                             sentence("the NVLink fabric says: {}", *health.get()),
                             sentence("systemctl status nvidia-fabricmanager")));
  }
  return findings;
}

}  // namespace

std::span<const HealthRule> speed_rules() {
  static constexpr HealthRule rules[] = {
      {.find = heat,
       .reads = {{as_key("temperature"),
                  [](const Device& device, const Snapshot&) {
                    return why_unread(device.temperature);
                  }}},
       .reports = {{"too_hot", "degraded",
                    "its temperature is at or above its own slowdown limit, or its margin is used "
                    "up; without a limit of its own nothing is said",
                    "fans, dust, air"}}},
      {.find = throttling,
       .reads = {{as_key("throttling"),
                  [](const Device& device, const Snapshot&) {
                    return why_unread(device.throttle_reasons);
                  }}},
       .reports = {{"hardware_thermal_slowdown", "degraded", "throttle reason 0x40",
                    "fans, dust, air"},
                   {"power_brake", "degraded", "throttle reason 0x80", "power supply and cables"},
                   {"software_thermal_slowdown", "notice", "throttle reason 0x20",
                    "fans, dust, air"},
                   {"hardware_slowdown", "degraded", "throttle reason 0x08, and none of the others",
                    "temperature, power supply"}}},
      {.find = lost_time,
       .reads = {{as_key("time lost"),
                  [](const Device& device, const Snapshot&) {
                    return why_unread(device.details.cell(Detail::throttled_hardware_thermal));
                  }}},
       .reports =
           {{"time_lost_to_heat", "notice",
             "the hardware slowed it for its heat for 1 min and more since the driver loaded",
             "fans, dust, air"},
            {"time_lost_to_power_brake", "notice",
             "the power supply held it back for 1 min and more", "power supply and cables"},
            {"time_lost_to_heat_control", "notice",
             "the driver slowed it for its heat for 10 min and more", "fans, dust, air"},
            {"time_lost_to_power_limit", "notice", "its power limit held it back for 1 h and more",
             "normal under full load; whether somebody lowered it"}}},
      {.find = pcie_link,
       .reads = {{as_key("PCIe link"),
                  [](const Device& device, const Snapshot&) {
                    return why_unread(device.pcie_width);
                  }}},
       .reports = {{"pcie_width",
                    "degraded; notice at 20 % utilisation and less, where some cards narrow the "
                    "link themselves",
                    "fewer lanes than the best of card and slot together",
                    "slot, riser, seating; without load: looking again under load"},
                   {"pcie_generation", "degraded",
                    "a lower generation than their best, at more than 20 % utilisation",
                    "slot, riser, BIOS"}}},
      {.find = pcie_replays,
       .reports = {{"pcie_replays", "notice",
                    "1000 packets and more sent again since the driver loaded", "riser, seating"}}},
      {.find = fabric,
       .reads = {{as_key("fabric"),
                  [](const Device& device, const Snapshot&) {
                    return why_unread(device.details.cell(Detail::fabric_state));
                  }}},
       .reports = {{"fabric_not_ready", "degraded", "the NVLink fabric's state is \"In Progress\"",
                    "the fabric manager"},
                   {"fabric_health", "degraded",
                    "the fabric says \"Unhealthy\" or \"Limited Capacity\"",
                    "the fabric manager"}}},
  };
  return rules;
}

}  // namespace berth::health
