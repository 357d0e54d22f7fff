#pragma once
// ServePage: the way from the terminal of `berth serve` to its page. It says where the page is,
// gives a link that makes its user known there, and opens a browser.

#include <string>
#include <vector>

#include "app/browser.h"
#include "app/context.h"
#include "serve/settings.h"
#include "serve/sign_in.h"

namespace berth {

void say_where(const Context& context, const std::vector<serve::Address>& addresses, bool with_tls,
               const std::string& socket);

/// "http://127.0.0.1:9700/": the nearest address for the user at this machine. Empty: there is
/// none.
[[nodiscard]] std::string page_address(const std::vector<serve::Address>& addresses, bool with_tls);

/// A file for its owner alone that leads a browser to a link. Every user can read a browser's
/// command line, so the link does not stand there. The file goes with this.
class LinkFile {
 public:
  LinkFile() = default;
  LinkFile(const LinkFile&) = delete;
  LinkFile& operator=(const LinkFile&) = delete;
  ~LinkFile();
  /// Its "file://…".
  [[nodiscard]] Result<std::string> write(const std::string& directory, const std::string& link);

 private:
  std::string path_;  // empty: there is none
};

/// A link of the server that runs here, as its Unix socket gives it to this user.
[[nodiscard]] Result<std::string> ask_for_link(Context& context, const std::string& socket);

}  // namespace berth
