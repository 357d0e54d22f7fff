#pragma once
// ServePage: how people get from the terminal of `berth serve` to its page: where it says that it
// serves, and a browser that opens it for the user at this terminal.

#include <string>
#include <vector>

#include "app/context.h"
#include "base/fd.h"
#include "base/result.h"
#include "serve/settings.h"

namespace berth {

void say_where(const Context& context, const std::vector<serve::Address>& addresses, bool with_tls,
               const std::string& socket);

/// What shows an address here, each "%s" standing for it: the first of $BROWSER that is there, else
/// xdg-open where there is a desktop. $BROWSER is commands with colons between them, their words
/// end at spaces: as for xdg-open there is no shell, and quotes are letters. not_found: why there
/// is none, and what to do.
[[nodiscard]] Result<std::vector<std::string>> browser_command(const Context& context);

/// Whether an address may be shown unasked: at a terminal where somebody is known to sit. Not one
/// of root's (sudo's included) or a CI's. Not one that outlives the user's stay (tmux, screen). One
/// through SSH counts only where an editor's $BROWSER reaches back to the user.
[[nodiscard]] bool expects_browser(const Context& context);

/// A process that waits for the address and then becomes the browser. It is begun before there are
/// threads and holds nothing of ours; it ends with us if it is told nothing.
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
