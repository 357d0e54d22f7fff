#pragma once
// Names of users, mostly from the password file alone. A directory service (LDAP, NIS) could block
// for ever: only probe/ asks it, because it can cut it off.

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

/// A line of /etc/passwd. What it points to is in the text.
struct PasswdEntry {
  std::string_view name;
  uid_t uid = 0;
  std::optional<gid_t> gid;  // nothing: it is no number
  std::string_view home;     // empty: none
};
/// The users in the text of /etc/passwd, in its order. Lines without a name or a number are left
/// out.
[[nodiscard]] std::vector<PasswdEntry> users_in_passwd(std::string_view text);

/// A line of /etc/group.
struct GroupEntry {
  std::string_view name;
  std::optional<gid_t> gid;  // nothing: it is no number
  std::vector<std::string_view> members;
};
/// The groups in the text of /etc/group, likewise. Lines without a name are left out.
[[nodiscard]] std::vector<GroupEntry> groups_in_file(std::string_view text);

/// Whether it is a person's number. Below are daemons (Debian's and Red Hat's UID_MIN); 65534 is
/// nobody.
[[nodiscard]] constexpr bool is_person(uid_t uid) { return uid >= 1000 && uid != 65534; }

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
/// The number of a user who is named as the file does, or by the number; nothing: it has no such
/// name.
[[nodiscard]] std::optional<uid_t> local_uid_of(std::string_view user,
                                                const std::string& passwd = "/etc/passwd");

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
