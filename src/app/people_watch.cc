#include "app/people_watch.h"

#include "base/fd.h"

namespace berth {

namespace {

constexpr const char* passwd_file = "/etc/passwd";
constexpr const char* group_file = "/etc/group";

}  // namespace

PeopleWatch::Mark PeopleWatch::mark_of(const char* path) {
  struct stat facts{};
  if (::stat(path, &facts) != 0) return {};
  constexpr std::int64_t second = 1'000'000'000;
  return {.inode = facts.st_ino,
          .changed_ns = facts.st_ctim.tv_sec * second + facts.st_ctim.tv_nsec};
}

bool PeopleWatch::look_again() {
  // Before they are read: what is written meanwhile is read the next time.
  const std::array now{mark_of(passwd_file), mark_of(group_file)};
  if (book_ && now == seen_) return false;
  seen_ = now;
  const auto passwd = read_file(passwd_file, 16 << 20);
  const auto group = read_file(group_file, 16 << 20);
  book_ = std::make_shared<const serve::GroupBook>(passwd.value_or(""), group.value_or(""));
  return true;
}

}  // namespace berth
