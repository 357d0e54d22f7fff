// What holds a device back: heat, power, and the links it hangs on.

#include <fmt/format.h>

#include <array>

#include "health/rules.h"
#include "snapshot/questions.h"

namespace berth::health {

namespace {

struct Reason {
  ClockReason reason;
  bool of_hardware;  // a cause of hardware_slowdown
  HealthState state;
  std::string_view code;
  std::string_view what;
  std::string_view advice;
};
constexpr auto reasons = std::to_array<Reason>({
    {ClockReason::hardware_thermal, true, HealthState::degraded, "hardware_thermal_slowdown",
     "the hardware slows it down: too hot", "look at fans, dust and the air of the room"},
    {ClockReason::power_brake, true, HealthState::degraded, "power_brake",
     "the hardware slows it down: the power supply asks for it",
     "look at the power supply and its cables"},
    {ClockReason::driver_thermal, false, HealthState::notice, "software_thermal_slowdown",
     "the driver slows it down: close to its highest temperature",
     "look at fans, dust and the air of the room"},
});

bool is_under_load(const Device& device) {
  return device.utilization_gpu.has_value() && *device.utilization_gpu.get() > Percent(20.0);
}

}  // namespace

// By the card's own limits: those of two cards of one model differ by their firmware.
Findings heat(const Device& device, const Snapshot&) {
  const auto left = degrees_to_slowdown(device);
  if (!left || *left > Celsius{0}) return {};
  const auto& limit = device.temperature_slowdown.get();
  const bool is_absolute = device.temperature.get() && limit;
  std::string evidence =
      is_absolute ? fmt::format("it is at {} °C and slows itself down from {} °C on",
                                device.temperature.get()->count(), limit->count())
                  : fmt::format("it is {} °C past where it slows itself down", -left->count());
  return {{HealthState::degraded, "too_hot", std::move(evidence),
           "look at fans, dust and the air of the room"}};
}

Findings throttling(const Device& device, const Snapshot&) {
  if (!device.throttle_reasons.has_value()) return {};
  const ClockReasons told = *device.throttle_reasons.get();
  Findings findings;
  bool has_cause = false;  // of a slowdown by the hardware
  for (const Reason& reason : reasons) {
    if (!has_any(told, reason.reason)) continue;
    has_cause = has_cause || reason.of_hardware;
    findings.push_back({reason.state, std::string(reason.code), std::string(reason.what),
                        std::string(reason.advice)});
  }
  // Hardware slowdown is said along with its cause; where no cause is given it stands for itself,
  // also beside what the driver does of its own accord.
  if (!has_cause && has_any(told, ClockReason::hardware)) {
    findings.push_back({HealthState::degraded, "hardware_slowdown",
                        "the hardware slows it down: heat or power",
                        "look at temperature and power supply"});
  }
  return findings;
}

// Idle, a link may be run slower and narrower to save power (nvidia-smi's help says it of both):
// only under load it tells something. Generations change all the time and lanes on few cards, so
// that fewer of them are worth a word before there is load.
Findings pcie_link(const Device& device, const Snapshot&) {
  Findings findings;
  const bool loaded = is_under_load(device);
  const auto& width = device.pcie_width;
  const auto& best_width = device.pcie_width_max;
  const bool narrow =
      width.has_value() && best_width.has_value() && *width.get() < *best_width.get();
  if (narrow && loaded) {
    findings.push_back(
        {HealthState::degraded, "pcie_width",
         fmt::format("PCIe runs with {} of {} lanes under load", *width.get(), *best_width.get()),
         "look at the slot, the riser and the seating of the card"});
  } else if (narrow) {
    findings.push_back(
        {HealthState::notice, "pcie_width",
         fmt::format("PCIe runs with {} of {} lanes", *width.get(), *best_width.get()),
         "look again under load: idle, some cards narrow the link themselves"});
  }
  const auto& generation = device.pcie_generation;
  const auto& best = device.pcie_generation_max;
  if (generation.has_value() && best.has_value() && *generation.get() < *best.get() && loaded) {
    findings.push_back(
        {HealthState::degraded, "pcie_generation",
         fmt::format("PCIe runs at generation {} of {} under load", *generation.get(), *best.get()),
         "look at the slot, the riser and the BIOS setting"});
  }
  return findings;
}

Findings pcie_replays(const Device& device, const Snapshot&) {
  constexpr std::uint64_t many = 1000;
  if (!device.pcie_replays.has_value() || *device.pcie_replays.get() < many) return {};
  return {{HealthState::notice, "pcie_replays",
           fmt::format("{} PCIe packets had to be sent again since the driver loaded",
                       *device.pcie_replays.get()),
           "many at once: look at the riser and the seating of the card"}};
}

Findings fabric(const Device& device, const Snapshot&) {
  const auto state = device.details.get<std::string>(Detail::fabric_state);
  const auto health = device.details.get<std::string>(Detail::fabric_health_summary);
  Findings findings;
  if (state.has_value() && *state.get() == "In Progress") {
    findings.push_back({HealthState::degraded, "fabric_not_ready",
                        "the NVLink fabric has not taken it in yet",
                        "systemctl status nvidia-fabricmanager"});
  }
  if (health.has_value() && (*health.get() == "Unhealthy" || *health.get() == "Limited Capacity")) {
    findings.push_back({HealthState::degraded, "fabric_health",
                        "the NVLink fabric says: " + *health.get(),
                        "systemctl status nvidia-fabricmanager"});
  }
  return findings;
}

}  // namespace berth::health
