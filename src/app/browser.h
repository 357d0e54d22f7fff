#pragma once
// Browser: shows an address to the user at this terminal, as other programs with a page do.

#include <string>
#include <vector>

#include "app/context.h"
#include "base/fd.h"
#include "base/result.h"

namespace berth {

/// The command that shows an address here, each "%s" standing for it. It is the first of $BROWSER
/// that exists, else xdg-open where there is a desktop. $BROWSER is commands with colons between
/// them, and their words end at spaces. As for xdg-open there is no shell, and quotes are letters.
/// not_found: why there is none, and what to do.
[[nodiscard]] Result<std::vector<std::string>> browser_command(const Context& context);

/// Whether an address may be shown unasked: at a terminal where somebody is known to sit. These are
/// not: root's (sudo's included), one that stays when the user goes (tmux, screen), a CI's. One
/// through SSH is, if an editor's $BROWSER reaches back to the user.
[[nodiscard]] bool expects_browser(const Context& context);

/// A process that waits for the address and then becomes the browser. It begins before there are
/// threads, and holds nothing of ours. It ends with us if it is told nothing.
class BrowserLater {
 public:
  /// Each error says what to do instead. SIGCHLD must not be ignored.
  [[nodiscard]] static Result<BrowserLater> begin(const Context& context);
  /// Once, and says so; what becomes of it is the browser's business.
  void show(const std::string& url);

 private:
  BrowserLater(Fd address, std::string name)
      : address_(std::move(address)), name_(std::move(name)) {}
  Fd address_;
  std::string name_;  // the command, as people are shown it
};

}  // namespace berth
