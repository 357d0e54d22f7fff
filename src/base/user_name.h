#pragma once
// Names of users, mostly from the password file alone. A directory service (LDAP, NIS) could block
// for ever: only probe/ asks it, because it can cut it off.

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

/// A user's name in the text of /etc/passwd; nothing: not there.
[[nodiscard]] std::optional<std::string> user_in_passwd(std::string_view text, uid_t uid);
/// A user's home directory there.
[[nodiscard]] std::optional<std::string> home_in_passwd(std::string_view text, uid_t uid);

/// Their first group, as /etc/passwd says; nothing: not there.
[[nodiscard]] std::optional<gid_t> local_group_of(uid_t uid,
                                                  const std::string& passwd = "/etc/passwd");

/// The names of the groups in the text of /etc/group that list the user, and of the first one.
[[nodiscard]] std::vector<std::string> groups_in(std::string_view group_text, std::string_view user,
                                                 std::optional<gid_t> first);
/// A user's number in the text of /etc/passwd; nothing: not there.
[[nodiscard]] std::optional<uid_t> uid_in_passwd(std::string_view text, std::string_view user);

/// The name, or the number as text where the file has none.
[[nodiscard]] std::string local_user_name(uid_t uid, const std::string& passwd = "/etc/passwd");

struct DirectoryUser {
  std::string name;
  std::string home;
};
/// As the system's directory says, with the services that it asks. It may block for ever. Nothing:
/// it knows none, or does not answer.
[[nodiscard]] std::optional<DirectoryUser> user_in_directory(uid_t uid);

}  // namespace berth
