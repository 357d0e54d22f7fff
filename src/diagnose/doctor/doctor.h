#pragma once
// What is wrong between a user's programs and this machine's GPUs: every rule asked, worst first.
// Pure: what was read is in Examined. The rules' names stand in doc/EXPLAIN.md.

#include "diagnose/doctor/examined.h"

namespace berth {

[[nodiscard]] Findings examine(const Examined& host);

}  // namespace berth
