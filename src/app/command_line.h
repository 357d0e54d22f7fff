#pragma once
// From argv to one verb: finds it, declares only its options, parses, runs.

#include <string>
#include <vector>

#include "app/context.h"

namespace berth {

/// The whole program but for main's error handling. Returns the exit code.
[[nodiscard]] int run_command_line(Context& context, const std::vector<std::string>& arguments);

}  // namespace berth
