#pragma once
// `berth health`: each device's state with its reasons.

#include <string>
#include <vector>

#include "health/health.h"
#include "view/paint.h"
#include "view/style.h"

namespace berth {

/// A line per device. Below a device that is not well stand the findings and what to do.
[[nodiscard]] std::string render_health(const std::vector<DeviceHealth>& devices,
                                        const Snapshot& snapshot, const Style& style);

/// The same as JSON, in English.
[[nodiscard]] std::string health_json(const std::vector<DeviceHealth>& devices,
                                      const Snapshot& snapshot);

/// "could not be examined: memory errors: failed; …"; empty: everything could be.
[[nodiscard]] std::string not_examined_text(const DeviceHealth& health);
[[nodiscard]] std::string_view health_word(HealthState state);
[[nodiscard]] Paint health_paint(HealthState state);

}  // namespace berth
