#include "record/log_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/encoding.h"
#include "base/fd.h"
#include "base/text.h"

namespace berth {

namespace {

/// What stands in a file before the part that is read.
struct LogHead {
  std::string beginning;       // its first bytes, which tell the encoding
  std::uint64_t left_out = 0;  // how much of it was skipped
};

/// Reads all and keeps the last part: a pipe cannot be read from its end.
Result<LogTail> read_to_end(int fd, const std::string& name, LogHead head = {},
                            const std::function<void()>& each = {}) {
  LogTail tail;
  std::array<char, 16384> piece{};
  const auto keep_the_end = [&] {
    if (head.left_out == 0) head.beginning = tail.bytes.substr(0, byte_order_mark_length);
    if (tail.bytes.size() <= longest_tail) return;
    head.left_out += tail.bytes.size() - longest_tail;
    tail.bytes.erase(0, tail.bytes.size() - longest_tail);
  };
  for (;;) {
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_system(errno, "read {}", name);
    if (got == 0) break;
    if (each) each();
    tail.bytes.append(piece.data(), static_cast<std::size_t>(got));
    if (tail.bytes.size() > 2 * longest_tail) keep_the_end();
  }
  keep_the_end();
  tail.cut = head.left_out > 0;
  tail.bytes = as_utf8(std::move(tail.bytes), head.beginning, head.left_out);
  return tail;
}

Result<LogTail> read_end_of(int fd, const std::string& path) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return fail_system(errno, "read {}", path);
  const auto most = static_cast<off_t>(longest_tail);
  if (!S_ISREG(status.st_mode)) return read_to_end(fd, path);
  // Where it stands already, the run's own output begins.
  const off_t begin = ::lseek(fd, 0, SEEK_CUR);
  if (begin == 0 && status.st_size <= most) return read_to_end(fd, path);
  std::array<char, byte_order_mark_length> first{};
  const ssize_t got = ::pread(fd, first.data(), first.size(), 0);
  const off_t from = ::lseek(fd, std::max(begin, status.st_size - most), SEEK_SET);
  if (got < 0 || from < 0) return fail_system(errno, "read {}", path);
  return read_to_end(fd, path,
                     {.beginning = {first.data(), static_cast<std::size_t>(got)},
                      .left_out = static_cast<std::uint64_t>(from)});
}

}  // namespace

Result<LogTail> read_log_tail(const std::string& path, const std::function<void()>& each) {
  if (path == "-") return read_to_end(STDIN_FILENO, "stdin", {}, each);
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return fail_system(errno, "open {}", path);
  // A device has no end, and the kernel's log looks like a file. A pipe has one: `<(command)`.
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode)) {
    return fail(ErrorCode::invalid, "{} is no file that a log could be in", printable(path));
  }
  const int waits = S_ISFIFO(status.st_mode) ? 0 : O_NONBLOCK;
  const auto fd = open_fd(path, O_RDONLY | O_NOCTTY | waits);
  if (!fd) return std::unexpected(fd.error());
  return read_end_of(fd->get(), path);
}

Result<LogTail> read_log_tail(const RunRecord& run) {
  const auto fd = open_log(run);
  if (!fd) return std::unexpected(fd.error());
  return read_end_of(fd->get(), *run.manifest.log);
}

}  // namespace berth
