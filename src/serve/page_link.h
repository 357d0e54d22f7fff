#pragma once
// The way from a terminal to the page of `berth serve`: its address, and the link by which the user
// is known there.

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "serve/settings.h"

namespace berth::serve {

/// "http://127.0.0.1:9700/": the address nearest to who sits here; empty: there is none.
[[nodiscard]] std::string page_address(const std::vector<Address>& addresses, bool with_tls);

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
[[nodiscard]] Result<std::string> ask_for_link(const std::string& socket, Clock& clock);

}  // namespace berth::serve
