#pragma once
// File descriptors and small files. What a stranger may have placed cannot trick us. No symlink is
// followed, no FIFO waited for, nothing inherited by a child.

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/sentence.h"

namespace berth {

/// Owns one descriptor and closes it.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd();

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  /// Gives the descriptor away without closing it.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  void close();

 private:
  int fd_ = -1;
};

/// open(2) with O_CLOEXEC added.
[[nodiscard]] Result<Fd> open_fd(const std::string& path, int flags, mode_t mode = 0);

/// Memory that is read into. Nothing is written there before: zeros cost as much as reading does.
template <std::size_t Size>
class ReadBlock {
 public:
  ReadBlock() {}
  [[nodiscard]] char* data() { return bytes_; }
  [[nodiscard]] static constexpr std::size_t size() { return Size; }

 private:
  char bytes_[Size];
};

/// Whether a file, a folder or anything else is at `path`, links followed. False for a link that
/// leads nowhere, and behind a folder that may not be searched.
[[nodiscard]] bool is_there(const std::string& path);
/// Likewise of a folder alone.
[[nodiscard]] bool is_directory(const std::string& path);

/// The whole of a file, at most `limit` bytes (more is an error: a "small file" that is not).
/// For files of the kernel and our own; /proc files of strangers may block, see
/// probe/probe_process.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::size_t limit = 1 << 20);

/// The whole of a file that a user names. For a pipe or a FIFO it waits until the writers are done.
[[nodiscard]] Result<std::string> read_named_file(const std::string& path, std::size_t limit);

/// Everything that comes through a descriptor, likewise, also where it was set not to block.
[[nodiscard]] Result<std::string> read_stream(int fd, std::size_t limit, const Sentence& what);

/// As read_file, for a file of /proc that the kernel makes in one piece. One read brings all of it,
/// so the second is spared.
[[nodiscard]] Result<std::string> read_proc_file(const std::string& path,
                                                 std::size_t limit = 1 << 20);

/// What such a file says now, from a descriptor that stays open: the read without the opening. A
/// process's file tells of that process alone: once it has ended, `not_found`, even if another has
/// its number then.
[[nodiscard]] Result<std::string> reread_proc_file(int fd);

/// As read_file, for a file that another user may have put there. Refuses symlinks, FIFOs, devices,
/// more than one link, and more than `limit` bytes.
[[nodiscard]] Result<std::string> read_untrusted_file(int directory, const std::string& name,
                                                      std::size_t limit = 1 << 16);

/// Everything from a descriptor until its end.
[[nodiscard]] Result<std::string> read_all(int fd, std::size_t limit = 64 << 20);

[[nodiscard]] Result<void> write_all(int fd, std::string_view bytes);

/// Replaces `path` so that a reader or a crash sees the old or the new file, never half of one.
[[nodiscard]] Result<void> write_file_atomically(const std::string& path, std::string_view bytes,
                                                 mode_t mode = 0644);

/// What a small file of one line says (/etc/machine-id); empty: it cannot be read.
[[nodiscard]] std::string first_line_of(const std::string& path);

/// mkdirat; what the umask forbids its owner of it, its owner may all the same. errno: as
/// mkdirat's.
[[nodiscard]] bool make_directory(int within, const std::string& name, mode_t mode);
/// Creates `path` and its parents; an existing directory is fine.
[[nodiscard]] Result<void> make_directories(const std::string& path, mode_t mode = 0755);

/// Names in a directory, without "." and "..", sorted.
[[nodiscard]] Result<std::vector<std::string>> list_directory(const std::string& path);
/// The same; none where they cannot be listed.
[[nodiscard]] std::vector<std::string> entries_in(const std::string& folder);

/// The name for a file that is of no use and is set aside: "PATH.broken-20251009-000000", in UTC.
[[nodiscard]] std::string name_set_aside(const std::string& path, WallTime now);
/// Those that were, the oldest first. Who sets one aside removes all but the newest: a disk that
/// damages one file after the other must not be filled with them.
[[nodiscard]] std::vector<std::string> set_aside_of(const std::string& path);

/// The target of a symbolic link.
[[nodiscard]] Result<std::string> read_link(const std::string& path);

/// Whether nobody but root can put something else there: of a path without links.
[[nodiscard]] bool is_roots_alone(std::string path);

}  // namespace berth
