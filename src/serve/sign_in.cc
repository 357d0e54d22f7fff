#include "serve/sign_in.h"

#include <fmt/format.h>

#include <utility>

#include "serve/digest.h"

namespace berth::serve {

namespace {
constexpr std::size_t most_kept = 64;
}

Result<SignIn::Made> SignIn::add(TokenStore& store, uid_t uid, WallTime now, Duration lasts) {
  auto secret = make_secret();
  if (!secret) return std::unexpected(std::move(secret).error());
  const WallTime expires{now.unix_ms +
                         std::chrono::duration_cast<std::chrono::milliseconds>(lasts).count()};
  while (store.tokens().size() >= most_kept) {
    static_cast<void>(store.revoke(std::string(store.tokens().front().name)));
  }
  const auto added = store.add({.name = fmt::format("browser-{}", ++made_),
                                .uid = uid,
                                .admin = false,
                                .created = now,
                                .expires = expires,
                                .sha256 = sha256_hex(*secret)});
  if (!added) return std::unexpected(added.error());
  return Made{.secret = std::move(*secret), .expires = expires};
}

Result<SignIn::Made> SignIn::make_link(uid_t uid, WallTime now) {
  return add(links_, uid, now, link_lasts);
}

Result<SignIn::Made> SignIn::redeem(std::string_view secret, WallTime now) {
  const auto link = links_.find(secret, now);
  if (!link) {
    return fail(ErrorCode::not_found, "this link was used already, or is older than {} minutes",
                link_lasts.count());
  }
  static_cast<void>(links_.revoke(link->name));
  return add(sessions_, *link->uid, now, session_lasts);
}

}  // namespace berth::serve
