#pragma once
// `berth doctor`: five lines that answer the beginner, then what was found, worst first.

#include <string>

#include "diagnose/doctor/examined.h"
#include "view/style.h"

namespace berth {

[[nodiscard]] std::string render_doctor(const Examined& host, const Findings& findings,
                                        const Style& style);

/// The same as JSON, always in English.
[[nodiscard]] std::string doctor_json(const Examined& host, const Findings& findings);

}  // namespace berth
