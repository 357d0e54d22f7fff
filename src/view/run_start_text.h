#pragma once
// The line on stderr when a job has started: where, why there, after how long a wait.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "place/placement.h"
#include "view/style.h"

namespace berth {

struct StartedText {
  std::string id;
  bool cpu_only = false;
  std::vector<Choice> devices;
  std::optional<std::string> simulated;
  std::chrono::milliseconds waited{0};
};

/// One line with its line break.
[[nodiscard]] std::string render_started(const StartedText& started, const Style& style);

}  // namespace berth
