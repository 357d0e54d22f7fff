#pragma once
// Who asks. A Unix socket's peer is known by its credentials, others by a token. Else it is nobody
// in particular. What the principal may see is decided by the policy (serve/visibility.h).

#include <sys/types.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace berth::serve {

enum class ListenerKind { unix_socket, loopback, wide };

struct Principal {
  ListenerKind listener = ListenerKind::loopback;
  /// Nothing: nobody in particular (TCP without a token), or a token of an administrator.
  std::optional<uid_t> uid;
  std::string user;  // the name; empty where there is no uid
  bool admin = false;
  std::string token;         // the name of the token that was shown; empty: none
  std::string token_sha256;  // which of that name it was: names are given again

  [[nodiscard]] bool is_known() const { return uid.has_value() || admin; }
  [[nodiscard]] bool is(uid_t other) const { return uid == other; }
  /// A user of this machine: its kernel shows such a user its processes.
  [[nodiscard]] bool is_on_this_machine() const {
    return listener == ListenerKind::unix_socket && uid;
  }
  /// Two askers with the same key see the same.
  [[nodiscard]] std::string view_key() const;
};

/// Users and groups as the files say; a directory service could block for ever and is not asked.
class GroupBook {
 public:
  GroupBook() = default;
  /// The texts of /etc/passwd and /etc/group.
  GroupBook(std::string_view passwd, std::string_view group);

  [[nodiscard]] bool share_group(uid_t a, uid_t b) const;
  /// The name, or the number as text.
  [[nodiscard]] std::string name_of(uid_t uid) const;

 private:
  std::map<uid_t, std::string> names_;
  std::map<uid_t, std::set<gid_t>> groups_;
};

/// Somebody who came through the Unix socket. `own`: the uid that the daemon runs as.
[[nodiscard]] Principal principal_of_peer(uid_t peer, uid_t own, const GroupBook& book);

/// The token in an Authorization header: "Bearer TOKEN", or "Basic" with the token as password. A
/// browser asks its user for a password by itself; Prometheus can send one. Nothing: neither.
[[nodiscard]] std::optional<std::string> token_in(std::string_view authorization);

}  // namespace berth::serve
