#include "base/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <ctime>
#include <memory>

#include "base/text.h"

namespace berth {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

Fd::~Fd() { close(); }

void Fd::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Result<Fd> open_fd(const std::string& path, int flags, mode_t mode) {
  Fd fd(::open(path.c_str(), flags | O_CLOEXEC, mode));
  if (!fd.is_open()) return fail_system(errno, "open {}", path);
  if (fd.get() > STDERR_FILENO) return fd;
  // We were started with a standard stream closed. What is put in its place later must not end
  // this.
  Fd moved(::fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!moved.is_open()) return fail_system(errno, "open {}", path);
  return moved;
}

namespace {

enum class Ends { with_an_empty_read, with_a_short_one };
enum class WhenEmpty { fails, waits };

void wait_for_more(int fd) {
  pollfd more{.fd = fd, .events = POLLIN, .revents = 0};
  (void)::poll(&more, 1, -1);
}

template <class What>
Result<std::string> read_bounded(int fd, std::size_t limit, const What& what,
                                 Ends ends = Ends::with_an_empty_read,
                                 WhenEmpty when_empty = WhenEmpty::fails) {
  std::string bytes;
  ReadBlock<16384> block;
  while (true) {
    const ssize_t got = ::read(fd, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN && when_empty == WhenEmpty::waits) {
      wait_for_more(fd);
      continue;
    }
    if (got < 0) return fail_system(errno, "read {}", what);
    if (got == 0) return bytes;
    bytes.append(block.data(), static_cast<std::size_t>(got));
    if (bytes.size() > limit) {
      return fail(ErrorCode::invalid, "{} is larger than the {} bytes expected of it", what, limit);
    }
    const bool is_short = static_cast<std::size_t>(got) < block.size();
    if (is_short && ends == Ends::with_a_short_one) return bytes;
  }
}

}  // namespace

bool is_there(const std::string& path) {
  struct stat facts{};
  return ::stat(path.c_str(), &facts) == 0;
}

bool is_directory(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  // Not blocking: somebody may have put a FIFO where a file is expected.
  auto fd = open_fd(path, O_RDONLY | O_NONBLOCK);
  if (!fd) return std::unexpected(std::move(fd).error());
  return read_bounded(fd->get(), limit, path);
}

Result<std::string> read_named_file(const std::string& path, std::size_t limit) {
  auto fd = open_fd(path, O_RDONLY);
  if (!fd) return std::unexpected(std::move(fd).error());
  return read_stream(fd->get(), limit, Sentence::as_is(path));
}

Result<std::string> read_stream(int fd, std::size_t limit, const Sentence& what) {
  return read_bounded(fd, limit, what, Ends::with_an_empty_read, WhenEmpty::waits);
}

Result<std::string> read_proc_file(const std::string& path, std::size_t limit) {
  auto fd = open_fd(path, O_RDONLY | O_NONBLOCK);
  if (!fd) return std::unexpected(std::move(fd).error());
  return read_bounded(fd->get(), limit, path, Ends::with_a_short_one);
}

Result<std::string> reread_proc_file(int fd) {
  ReadBlock<16384> block;
  std::string bytes;
  while (true) {
    const ssize_t got = ::pread(fd, block.data(), block.size(), static_cast<off_t>(bytes.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_system(errno, "read descriptor {}", fd);
    bytes.append(block.data(), static_cast<std::size_t>(got));
    if (static_cast<std::size_t>(got) < block.size()) return bytes;
  }
}

Result<std::string> read_untrusted_file(int directory, const std::string& name, std::size_t limit) {
  const Fd fd(::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.is_open()) return fail_system(errno, "open {}", name);
  struct stat facts{};
  if (::fstat(fd.get(), &facts) != 0) return fail_system(errno, "examine {}", name);
  if (!S_ISREG(facts.st_mode)) return fail(ErrorCode::invalid, "{} is not a regular file", name);
  if (facts.st_nlink != 1) return fail(ErrorCode::invalid, "{} has more than one link", name);
  return read_bounded(fd.get(), limit, name);
}

Result<std::string> read_all(int fd, std::size_t limit) {
  return read_bounded(fd, limit, "descriptor " + std::to_string(fd));
}

Result<void> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return fail_system(errno, "write");
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

Result<void> write_file_atomically(const std::string& path, std::string_view bytes, mode_t mode) {
  const std::string temporary = path + ".new." + std::to_string(::getpid());
  // What stands there is of a writer that was killed, or somebody has put a FIFO to be waited for.
  ::unlink(temporary.c_str());
  auto fd = open_fd(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  if (!fd) return std::unexpected(std::move(fd).error());
  auto written = write_all(fd->get(), bytes);
  if (!written) {
    ::unlink(temporary.c_str());
    return std::unexpected(std::move(written).error().because("writing {}", path));
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const int why = errno;
    ::unlink(temporary.c_str());
    return fail_system(why, "replace {}", path);
  }
  return {};
}

std::string first_line_of(const std::string& path) {
  const auto text = read_file(path, 4096);
  return text ? std::string(trimmed(*text)) : std::string();
}

bool make_directory(int within, const std::string& name, mode_t mode) {
  if (::mkdirat(within, name.c_str(), mode) != 0) return false;
  struct stat facts{};
  const mode_t owners = mode & S_IRWXU;
  if (::fstatat(within, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
      (facts.st_mode & owners) != owners) {
    return ::fchmodat(within, name.c_str(), (facts.st_mode & 07777U) | owners,
                      AT_SYMLINK_NOFOLLOW) == 0;
  }
  return true;
}

Result<void> make_directories(const std::string& path, mode_t mode) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (!make_directory(AT_FDCWD, part, mode) && errno != EEXIST) {
      const int why = errno;
      struct stat facts{};
      // EROFS or EACCES on an existing parent is no failure of ours.
      if (::stat(part.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode)) {
        return fail_system(why, "create directory {}", part);
      }
    }
    if (slash == std::string::npos) break;
  }
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) return fail_system(errno, "examine {}", path);
  if (!S_ISDIR(facts.st_mode)) return fail(ErrorCode::invalid, "{} is not a directory", path);
  return {};
}

Result<std::vector<std::string>> list_directory(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), ::closedir);
  if (!directory) return fail_system(errno, "list {}", path);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> entries_in(const std::string& folder) {
  return list_directory(folder).value_or(std::vector<std::string>{});
}

bool is_roots_alone(std::string path) {
  while (true) {
    struct stat facts{};
    if (::lstat(path.empty() ? "/" : path.c_str(), &facts) != 0) return false;
    // In a sticky folder (/tmp) nobody else moves what is root's.
    const bool is_sticky = S_ISDIR(facts.st_mode) && (facts.st_mode & S_ISVTX) != 0;
    if (facts.st_uid != 0 || ((facts.st_mode & 0022U) != 0 && !is_sticky)) return false;
    if (path.empty()) return true;
    path.erase(path.rfind('/'));
  }
}

std::string name_set_aside(const std::string& path, WallTime now) {
  const std::time_t seconds = now.unix_ms / 1000;
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 32> date{};
  const std::size_t size = std::strftime(date.data(), date.size(), "%Y%m%d-%H%M%S", &utc);
  return path + ".broken-" + std::string(date.data(), size);
}

std::vector<std::string> set_aside_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const std::string begins = path.substr(slash + 1) + ".broken-";
  const auto is_date = [](std::string_view text) {
    return text.size() == std::string_view("20251009-000000").size() &&
           text.find_first_not_of("0123456789-") == std::string_view::npos;
  };
  std::vector<std::string> found;
  for (const std::string& name : entries_in(directory)) {  // sorted
    const bool is_one =
        name.starts_with(begins) && is_date(std::string_view(name).substr(begins.size()));
    if (is_one)
      found.push_back(path + name.substr(begins.size() - std::string_view(".broken-").size()));
  }
  return found;
}

Result<std::string> read_link(const std::string& path) {
  ReadBlock<PATH_MAX> target;
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  if (length < 0) return fail_system(errno, "read link {}", path);
  return std::string(target.data(), static_cast<std::size_t>(length));
}

}  // namespace berth
