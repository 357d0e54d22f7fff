#pragma once
// DriverLog: what the NVIDIA driver says in the kernel log, its errors and that it was loaded. One
// pass tells both, so that each error can be held against the load that came after it.

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/reading.h"
#include "snapshot/snapshot.h"

namespace berth {

struct DriverMessages {
  /// What is new in the log, oldest first.
  ///
  /// Absent  no permission: the log is root's (kernel.dmesg_restrict). failed.
  Reading<std::vector<XidEvent>> errors;
  /// The last time, by all that has been read.
  ///
  /// Absent  not sampled: the log has not told it.
  Reading<WallTime> loaded;
};

class DriverLog {
 public:
  /// `end`: what was there before the first read is nobody's concern.
  enum class From { beginning, end };
  DriverLog(std::string kernel_log, std::string proc, From from = From::beginning)
      : path_(std::move(kernel_log)), proc_(std::move(proc)), from_(from) {}

  /// All that is there; called again, from where it stood. Blocks nobody.
  [[nodiscard]] DriverMessages read(WallTime now);

 private:
  std::string path_;
  std::string proc_;
  From from_;
  Fd log_;
  std::optional<WallTime> loaded_;
};

}  // namespace berth
