#include "serve/people_watch.h"

#include <utility>

#include "base/fd.h"

namespace berth::serve {

namespace {

constexpr std::size_t longest_file = 16 << 20;

}  // namespace

bool PeopleWatch::File::look_again() {
  // Before it is read: what is written meanwhile is read the next time.
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) return false;
  constexpr std::int64_t second = 1'000'000'000;
  const std::int64_t changed = facts.st_ctim.tv_sec * second + facts.st_ctim.tv_nsec;
  if (facts.st_ino == inode && changed == changed_ns) return false;
  auto now = read_file(path, longest_file);
  if (!now) return false;
  text = *std::move(now);
  inode = facts.st_ino;
  changed_ns = changed;
  return true;
}

PeopleWatch::PeopleWatch(std::string passwd_file, std::string group_file) {
  files_[0].path = std::move(passwd_file);
  files_[1].path = std::move(group_file);
}

bool PeopleWatch::look_again() {
  const bool has_people = files_[0].look_again();
  const bool has_groups = files_[1].look_again();
  const bool is_first = !std::exchange(has_looked_, true);
  if (!has_people && !has_groups) return is_first;
  book_ = std::make_shared<const GroupBook>(files_[0].text, files_[1].text);
  return true;
}

}  // namespace berth::serve
