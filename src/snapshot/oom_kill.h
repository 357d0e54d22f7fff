#pragma once
// OomKill: a process that the kernel ended because the main memory was used up, as the kernel log
// tells it.

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/units.h"

namespace berth {

struct OomKill {
  WallTime at;
  pid_t pid = 0;
  std::string process;            // its name, as the kernel had it: at most 15 bytes
  bool of_group = false;          // a control group's limit was reached, not the machine's end
  std::optional<Bytes> resident;  // anonymous memory that it held
  friend bool operator==(const OomKill&, const OomKill&) = default;
};

}  // namespace berth
