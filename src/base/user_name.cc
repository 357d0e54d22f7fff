#include "base/user_name.h"

#include <pwd.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/fd.h"
#include "base/text.h"

namespace berth {

namespace {

/// The fields of a user's line in /etc/passwd; empty: none.
std::vector<std::string_view> passwd_line(std::string_view text, uid_t uid) {
  for (const std::string_view line : split(text, '\n')) {
    auto fields = split(line, ':');
    if (fields.size() < 4 || fields[0].empty()) continue;
    if (parse_unsigned(fields[2]) == uid) return fields;
  }
  return {};
}

}  // namespace

std::optional<std::string> user_in_passwd(std::string_view text, uid_t uid) {
  const auto fields = passwd_line(text, uid);
  if (fields.empty()) return std::nullopt;
  return std::string(fields[0]);
}

std::optional<std::string> home_in_passwd(std::string_view text, uid_t uid) {
  const auto fields = passwd_line(text, uid);
  if (fields.size() < 6 || !fields[5].starts_with('/')) return std::nullopt;
  return std::string(fields[5]);
}

std::optional<gid_t> local_group_of(uid_t uid, const std::string& passwd) {
  const auto text = read_file(passwd, 16 << 20);
  const auto fields = text ? passwd_line(*text, uid) : std::vector<std::string_view>();
  const auto gid = fields.empty() ? std::nullopt : parse_unsigned(fields[3]);
  if (!gid || *gid > std::numeric_limits<gid_t>::max()) return std::nullopt;
  return static_cast<gid_t>(*gid);
}

std::vector<std::string> groups_in(std::string_view group_text, std::string_view user,
                                   std::optional<gid_t> first) {
  std::vector<std::string> groups;
  for (const std::string_view line : split(group_text, '\n')) {
    const auto fields = split(line, ':');
    if (fields.size() < 4 || fields[0].empty()) continue;
    const auto members = split(fields[3], ',');
    const bool is_listed = std::ranges::find(members, user) != members.end();
    if (is_listed || (first && parse_unsigned(fields[2]) == *first)) groups.emplace_back(fields[0]);
  }
  return groups;
}

std::optional<uid_t> uid_in_passwd(std::string_view text, std::string_view user) {
  for (const std::string_view line : split(text, '\n')) {
    const auto fields = split(line, ':');
    if (fields.size() < 4 || fields[0] != user) continue;
    const auto uid = parse_unsigned(fields[2]);
    if (uid && *uid <= std::numeric_limits<uid_t>::max()) return static_cast<uid_t>(*uid);
  }
  return std::nullopt;
}

std::string local_user_name(uid_t uid, const std::string& passwd) {
  const auto text = read_file(passwd, 16 << 20);
  const auto name = text ? user_in_passwd(*text, uid) : std::nullopt;
  return name.value_or(std::to_string(uid));
}

std::optional<DirectoryUser> user_in_directory(uid_t uid) {
  ::passwd entry{};
  ::passwd* found = nullptr;
  std::array<char, 16384> buffer{};
  if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0) return std::nullopt;
  if (found == nullptr || found->pw_name == nullptr || found->pw_dir == nullptr) {
    return std::nullopt;
  }
  return DirectoryUser{.name = found->pw_name, .home = found->pw_dir};
}

}  // namespace berth
