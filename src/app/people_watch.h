#pragma once
// Who is known on this machine, as /etc/passwd and /etc/group say now: somebody may be added, or
// join a group, while a server runs.

#include <sys/stat.h>

#include <array>
#include <memory>

#include "serve/asker.h"

namespace berth {

class PeopleWatch {
 public:
  /// True: it has read them, because they are not those of before.
  bool look_again();
  /// Who shares a group with whom; null before the first look.
  [[nodiscard]] const std::shared_ptr<const serve::GroupBook>& book() const { return book_; }

 private:
  /// What a file that was written, or put in place of another, has otherwise.
  struct Mark {
    ino_t inode = 0;
    std::int64_t changed_ns = -1;
    friend bool operator==(const Mark&, const Mark&) = default;
  };
  static Mark mark_of(const char* path);

  std::array<Mark, 2> seen_;
  std::shared_ptr<const serve::GroupBook> book_;
};

}  // namespace berth
