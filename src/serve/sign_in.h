#pragma once
// SignIn: how a browser becomes known without a typed token. A link has a secret in its fragment,
// which no request carries and no log keeps. The page exchanges it, once, for a token of its own.
// Nothing is kept on disk: all of it ends with the server. One thread.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
#include "serve/tokens.h"

namespace berth::serve {

/// The text before the secret in a link's fragment.
inline constexpr std::string_view sign_in_fragment = "#sign-in=";

class SignIn {
 public:
  static constexpr std::chrono::minutes link_lasts{10};
  static constexpr std::chrono::hours session_lasts{24};

  struct Made {
    std::string secret;
    WallTime expires;
  };
  /// The secret of a link that stands for this user. If many are unused the oldest goes.
  [[nodiscard]] Result<Made> make_link(uid_t uid, WallTime now);
  /// A token for the one that shows the secret. not_found: it was used, is too old, or was never
  /// made.
  [[nodiscard]] Result<Made> redeem(std::string_view secret, WallTime now);
  /// The page's address for a user at this machine: "http://127.0.0.1:9700/".
  void set_page(std::string url) { page_ = std::move(url); }
  [[nodiscard]] const std::string& page() const { return page_; }
  /// The tokens that were given.
  [[nodiscard]] const TokenStore& sessions() const { return sessions_; }

 private:
  [[nodiscard]] Result<Made> add(TokenStore& store, uid_t uid, WallTime now, Duration lasts);

  std::string page_;
  TokenStore links_;
  TokenStore sessions_;
  std::uint64_t made_ = 0;  // names are never given again
};

}  // namespace berth::serve
