#pragma once
// Runs a command for the server: one that is told of an alert, a reservation's, a limit's. It has
// no shell, a text on its stdin, and a limited time, also where the server ends before. A small
// process of ours stands above it, adopts whatever it leaves, and ends that when the time is over.

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "serve/http_loop.h"

namespace berth::serve {

struct AlertCommand {
  std::vector<std::string> command;
  std::vector<std::string> environment;  // NAME=value
  std::string search_path;
  std::string input;
  Duration patience = std::chrono::seconds(30);
};

/// Waits for its end; an error where it did not exit with 0. This process adopts what it leaves.
[[nodiscard]] Result<void> run_and_wait(const AlertCommand& command);

/// `done` is called once, later, in the loop's thread: nothing where the command exited with 0.
void run_alert_command(Loop& loop, Clock& clock, AlertCommand command,
                       std::function<void(Result<void>)> done);

}  // namespace berth::serve
