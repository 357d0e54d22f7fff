#pragma once
// The daemon behind `berth serve`: looks at the machine once a second and has what it saw served.

#include <functional>
#include <string>

#include "app/context.h"
#include "serve/settings.h"

namespace berth {

/// Whether the page is opened in a browser as the server begins.
enum class OpenPage { where_expected, always, never };

struct ServePlan {
  serve::Settings settings;
  std::string socket;  // empty: none
  /// The configuration as it is now, for SIGHUP.
  std::function<Result<serve::Settings>()> read_again;
  OpenPage open_page = OpenPage::where_expected;
};

/// Until SIGTERM or SIGINT; the exit code.
[[nodiscard]] int run_server(Context& context, ServePlan plan);

}  // namespace berth
