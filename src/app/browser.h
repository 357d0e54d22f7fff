#pragma once
// Browser: shows an address to whoever sits at this terminal, as other programs with a page do.

#include <string>
#include <vector>

#include "app/context.h"
#include "base/fd.h"
#include "base/result.h"

namespace berth {

/// What shows an address here, "%s" standing for it: the first of $BROWSER (commands, with colons
/// between them) that is there, else xdg-open where there is a desktop. not_found: why there is
/// none.
[[nodiscard]] Result<std::vector<std::string>> browser_command(const Context& context);

/// Whether an address may be shown unasked: at a terminal, not root's, and not through SSH unless
/// $BROWSER says what reaches back to who sits there.
[[nodiscard]] bool expects_browser(const Context& context);

/// A process that waits for the address and then becomes the browser. It is begun before there are
/// threads and holds nothing of ours; it ends with us if it is told nothing.
class BrowserLater {
 public:
  [[nodiscard]] static Result<BrowserLater> begin(const Context& context);
  /// Once; what becomes of it is the browser's business.
  void show(const std::string& url);

 private:
  explicit BrowserLater(Fd address) : address_(std::move(address)) {}
  Fd address_;
};

}  // namespace berth
