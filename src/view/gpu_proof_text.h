#pragma once
// What the tests of devices came to, for people: a block per device, a line per step.

#include <string>

#include "diagnose/doctor/examined.h"
#include "view/style.h"

namespace berth {

[[nodiscard]] std::string render_gpu_proofs(const Examined& host, const Style& style);

}  // namespace berth
