#pragma once
// `berth status --all`: this server and those beside it.

#include <string>

#include "app/context.h"

namespace berth {

struct StatusAll {
  std::string join;       // --join; empty: those that the server here, or its configuration, knows
  std::string join_file;  // --join-file
  bool json = false;
};

/// Prints; the exit code: 0 where all answered.
[[nodiscard]] int show_all(Context& context, const StatusAll& wanted);

}  // namespace berth
