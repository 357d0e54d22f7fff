#pragma once
// The daemon behind `berth serve`: looks at the machine once a second and has what it saw served.

#include <functional>
#include <string>

#include "app/context.h"
#include "serve/settings.h"

namespace berth {

struct ServePlan {
  serve::Settings settings;
  std::string socket;  // empty: none
  /// The configuration as it is now, for SIGHUP.
  std::function<Result<serve::Settings>()> read_again;
};

/// Until SIGTERM or SIGINT; the exit code.
[[nodiscard]] int run_server(Context& context, ServePlan plan);

}  // namespace berth
