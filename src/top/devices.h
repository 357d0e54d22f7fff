#pragma once
// Which of the shown devices have something to show besides their name.

#include <vector>

#include "top/model.h"

namespace berth::top {

/// Lost, or nothing that a job can be given: a reason stands in place of its readings.
[[nodiscard]] bool is_out_of_use(const Device& device);
/// The others, in the snapshot's order: those get charts.
[[nodiscard]] std::vector<const Device*> charted_devices(const State& state);

}  // namespace berth::top
