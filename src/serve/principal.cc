#include "serve/principal.h"

#include <algorithm>

#include "base/text.h"
#include "base/user_name.h"

namespace berth::serve {

namespace {

/// Nothing: not base64.
std::optional<std::string> from_base64(std::string_view text) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  unsigned held = 0;
  int bits = 0;
  for (const char c : text) {
    const std::size_t value = digits.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    held = (held << 6 | static_cast<unsigned>(value)) & 0xffffU;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(held >> bits & 0xffU);
  }
  return bytes;
}

}  // namespace

std::string Principal::view_key() const {
  // What is answered names who asked.
  if (admin) return "admin " + user;
  if (is_on_this_machine()) return "here " + std::to_string(*uid);
  return uid ? "uid " + std::to_string(*uid) : "nobody";
}

GroupBook::GroupBook(std::string_view passwd, std::string_view group) {
  std::map<std::string_view, uid_t> uids;
  for (const PasswdEntry& user : users_in_passwd(passwd)) {
    if (!user.gid) continue;
    names_.try_emplace(user.uid, user.name);
    uids.try_emplace(user.name, user.uid);
    groups_[user.uid].insert(*user.gid);
  }
  for (const GroupEntry& one : groups_in_file(group)) {
    if (!one.gid) continue;
    for (const std::string_view member : one.members) {
      const auto found = uids.find(member);
      if (found != uids.end()) groups_[found->second].insert(*one.gid);
    }
  }
}

bool GroupBook::share_group(uid_t a, uid_t b) const {
  const auto of_a = groups_.find(a);
  const auto of_b = groups_.find(b);
  if (of_a == groups_.end() || of_b == groups_.end()) return false;
  return std::any_of(of_a->second.begin(), of_a->second.end(),
                     [&](gid_t gid) { return of_b->second.contains(gid); });
}

std::string GroupBook::name_of(uid_t uid) const {
  const auto found = names_.find(uid);
  return found == names_.end() ? std::to_string(uid) : found->second;
}

Principal principal_of_peer(uid_t peer, uid_t own, const GroupBook& book) {
  return {.listener = ListenerKind::unix_socket,
          .uid = peer,
          .user = book.name_of(peer),
          .admin = peer == 0 || peer == own};
}

std::optional<std::string> token_in(std::string_view authorization) {
  const std::size_t space = authorization.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const std::string_view scheme = authorization.substr(0, space);
  const std::string_view rest = trimmed(authorization.substr(space));
  if (equals_ignoring_case(scheme, "bearer")) return std::string(rest);
  if (!equals_ignoring_case(scheme, "basic")) return std::nullopt;
  const auto pair = from_base64(rest);
  const std::size_t colon = pair ? pair->find(':') : std::string::npos;
  if (colon == std::string::npos) return std::nullopt;
  return pair->substr(colon + 1);
}

}  // namespace berth::serve
