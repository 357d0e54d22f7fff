#pragma once
// Several servers, a line each: `berth status --all`, once or every few seconds, and `berth top
// --join`.

#include <chrono>
#include <string>

#include "app/context.h"

namespace berth {

/// This one is the first.
struct SeveralServers {
  std::string join;       // --join; empty: those that the server here, or its configuration, knows
  std::string join_file;  // --join-file
};

/// Returns the exit code: 0 where all answered.
[[nodiscard]] int show_servers(Context& context, const SeveralServers& wanted, bool as_json);

enum class Keys { left, read };
/// Runs until Ctrl-C, or q where keys are read. A server that hangs delays the others for three
/// seconds, and is then told as it is. Returns the exit code.
[[nodiscard]] int watch_servers(Context& context, const SeveralServers& wanted,
                                std::chrono::milliseconds every, Keys keys = Keys::left);

}  // namespace berth
