#pragma once
// Several servers, a line each, asked every few seconds: `berth top --join`, `berth status --all
// -w`.

#include <chrono>
#include <string>

#include "app/context.h"

namespace berth {

/// `join`: as `berth status --all` takes it. Runs until q or Ctrl-C. A server that hangs delays the
/// others for three seconds, and is then told as it is. Returns the exit code.
[[nodiscard]] int watch_servers(Context& context, const std::string& join,
                                std::chrono::milliseconds every);

}  // namespace berth
