#pragma once
// The end of what a job has printed: the part of a log that says why it died.

#include <functional>
#include <string>

#include "base/result.h"
#include "record/run_record.h"

namespace berth {

inline constexpr std::size_t longest_tail = std::size_t{8} << 20;

struct LogTail {
  std::string bytes;  // UTF-8, at most longest_tail of the file's
  bool cut = false;
};
/// Also of a pipe, which is read to its end; "-" is stdin, `each` is told of each piece of it.
[[nodiscard]] Result<LogTail> read_log_tail(const std::string& path,
                                            const std::function<void()>& each = {});
/// The end of a detached run's output.
[[nodiscard]] Result<LogTail> read_log_tail(const RunRecord& run);

}  // namespace berth
