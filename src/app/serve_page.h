#pragma once
// ServePage: how people get from the terminal of `berth serve` to its page: where it says that it
// serves, the link by which its user is known there, and a browser that opens it.

#include <string>
#include <vector>

#include "app/browser.h"
#include "app/context.h"
#include "serve/settings.h"
#include "serve/sign_in.h"

namespace berth {

void say_where(const Context& context, const std::vector<serve::Address>& addresses, bool with_tls,
               const std::string& socket);

/// "http://127.0.0.1:9700/": the address nearest to who sits here; empty: there is none.
[[nodiscard]] std::string page_address(const std::vector<serve::Address>& addresses, bool with_tls);

/// A file for its owner alone that leads a browser to a link: what a browser is given as a word is
/// for every user to read. It goes with this.
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
