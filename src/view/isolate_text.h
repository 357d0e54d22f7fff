#pragma once
// What a job can do once it is isolated (`berth isolate --check`), in words and as JSON.

#include <string>

#include "run/isolate_check.h"

namespace berth {

[[nodiscard]] std::string render_isolation(const IsolationReport& report);
[[nodiscard]] std::string isolation_json(const IsolationReport& report);

}  // namespace berth
