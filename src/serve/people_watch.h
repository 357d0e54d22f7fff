#pragma once
// The users and groups of this machine, as /etc/passwd and /etc/group say now. While a server runs,
// a user may be added or join a group.

#include <sys/stat.h>

#include <array>
#include <memory>
#include <string>

#include "serve/principal.h"

namespace berth::serve {

class PeopleWatch {
 public:
  explicit PeopleWatch(std::string passwd_file = "/etc/passwd",
                       std::string group_file = "/etc/group");

  /// True: the files have changed, or this is the first look. If a file cannot be read, its last
  /// text holds, and it is tried again the next time.
  bool look_again();
  /// Which users share a group. Until the files could be read, nobody shares one.
  [[nodiscard]] const std::shared_ptr<const GroupBook>& book() const { return book_; }
  /// The text of /etc/passwd in which they stand.
  [[nodiscard]] const std::string& passwd() const { return files_[0].text; }

 private:
  struct File {
    std::string path;
    std::string text;
    // Either differs once the file was written or replaced. -1: never read.
    ino_t inode = 0;
    std::int64_t changed_ns = -1;
    bool look_again();
  };

  std::array<File, 2> files_;
  bool has_looked_ = false;
  std::shared_ptr<const GroupBook> book_ = std::make_shared<const GroupBook>();
};

}  // namespace berth::serve
