#include "base/user_name.h"

#include <pwd.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/fd.h"
#include "base/text.h"

namespace berth {

namespace {

constexpr std::size_t largest_file = 16 << 20;

/// Of a user or a group. The highest number is the kernel's word for "none".
template <class Id>
std::optional<Id> id_in(std::string_view text) {
  const auto number = parse_unsigned(text);
  if (!number || *number >= std::numeric_limits<Id>::max()) return std::nullopt;
  return static_cast<Id>(*number);
}

std::optional<PasswdEntry> entry_in(std::string_view line) {
  const auto fields = split(line, ':');
  if (fields.size() < 4 || fields[0].empty()) return std::nullopt;
  const auto uid = id_in<uid_t>(fields[2]);
  if (!uid) return std::nullopt;
  return PasswdEntry{.name = fields[0],
                     .uid = *uid,
                     .gid = id_in<gid_t>(fields[3]),
                     .home = fields.size() < 6 ? std::string_view() : fields[5]};
}

/// The first user in the text that `is_sought`.
template <class IsSought>
std::optional<PasswdEntry> first_in_passwd(std::string_view text, const IsSought& is_sought) {
  for (const std::string_view line : split(text, '\n')) {
    const auto entry = entry_in(line);
    if (entry && is_sought(*entry)) return entry;
  }
  return std::nullopt;
}

std::optional<PasswdEntry> user_of(uid_t uid, std::string_view text) {
  return first_in_passwd(text, [&](const PasswdEntry& user) { return user.uid == uid; });
}

}  // namespace

std::vector<PasswdEntry> users_in_passwd(std::string_view text) {
  std::vector<PasswdEntry> users;
  for (const std::string_view line : split(text, '\n')) {
    if (const auto entry = entry_in(line)) users.push_back(*entry);
  }
  return users;
}

std::vector<GroupEntry> groups_in_file(std::string_view text) {
  std::vector<GroupEntry> groups;
  for (const std::string_view line : split(text, '\n')) {
    const auto fields = split(line, ':');
    if (fields.size() < 4 || fields[0].empty()) continue;
    groups.push_back(
        {.name = fields[0], .gid = id_in<gid_t>(fields[2]), .members = split(fields[3], ',')});
  }
  return groups;
}

std::optional<std::string> user_in_passwd(std::string_view text, uid_t uid) {
  const auto user = user_of(uid, text);
  return user ? std::optional<std::string>(user->name) : std::nullopt;
}

std::optional<std::string> home_in_passwd(std::string_view text, uid_t uid) {
  const auto user = user_of(uid, text);
  if (!user || !user->home.starts_with('/')) return std::nullopt;
  return std::string(user->home);
}

std::optional<gid_t> local_group_of(uid_t uid, const std::string& passwd) {
  const auto text = read_file(passwd, largest_file);
  const auto user = text ? user_of(uid, *text) : std::nullopt;
  return user ? user->gid : std::nullopt;
}

std::vector<std::string> groups_in(std::string_view group_text, std::string_view user,
                                   std::optional<gid_t> first) {
  std::vector<std::string> groups;
  for (const GroupEntry& group : groups_in_file(group_text)) {
    const bool is_listed = std::ranges::find(group.members, user) != group.members.end();
    if (is_listed || (first && group.gid == first)) groups.emplace_back(group.name);
  }
  return groups;
}

std::optional<uid_t> local_uid_of(std::string_view user, const std::string& passwd) {
  const auto text = read_file(passwd, largest_file);
  const auto named = first_in_passwd(text ? std::string_view(*text) : std::string_view(),
                                     [&](const PasswdEntry& entry) { return entry.name == user; });
  return named ? named->uid : id_in<uid_t>(user);
}

std::string local_user_name(uid_t uid, const std::string& passwd) {
  const auto text = read_file(passwd, largest_file);
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
