// The working directory, and folders that may not answer: each asked in a process of its own.

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"
#include "host_environment/machine_side.h"

namespace berth {

namespace {

/// Opens and reads the beginning of a few files; -1: there is none to open.
std::int64_t mean_open_microseconds(const std::string& path, Clock& clock) {
  const auto names = list_directory(path);
  if (!names) return -1;
  int opened = 0;
  Duration spent{};
  for (const std::string& name : *names) {
    const std::string file = path + "/" + name;
    struct stat facts{};
    if (opened == 8) break;
    if (::lstat(file.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
    const Instant begin = clock.now();
    const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    char piece[4096];
    const bool read = fd >= 0 && ::read(fd, piece, sizeof piece) >= 0;
    if (fd >= 0) ::close(fd);
    if (!read) continue;
    spent += clock.now() - begin;
    ++opened;
  }
  if (opened == 0) return -1;
  return std::chrono::duration_cast<std::chrono::microseconds>(spent).count() / opened;
}

}  // namespace

std::string file_system_of(std::string_view mountinfo, std::string_view path) {
  std::string type;
  std::size_t longest = 0;
  for (const std::string_view line : split(mountinfo, '\n')) {
    const auto words = split(line, ' ');
    const auto dash = std::ranges::find(words, std::string_view("-"));
    if (words.size() < 7 || dash == words.end() || dash + 1 == words.end()) continue;
    const std::string_view point = words[4];
    const bool below = point == "/" || (path.starts_with(point) &&
                                        (path.size() == point.size() || path[point.size()] == '/'));
    if (!below || point.size() < longest) continue;
    longest = point.size();
    type = std::string(*(dash + 1));
  }
  return type;
}

WorkingDirectory gather_directory(const std::string& path, const std::string& root, Clock& clock) {
  WorkingDirectory directory{.path = path};
  if (const auto mounts = read_file(root + "/proc/self/mountinfo", 4 << 20)) {
    directory.file_system = file_system_of(*mounts, path);
  }
  const auto answer = ask_child(
      [&] {
        struct statvfs facts{};
        if (::statvfs(path.c_str(), &facts) != 0) return 1;
        const std::string said = std::to_string(facts.f_blocks * facts.f_frsize) + "\n" +
                                 std::to_string(facts.f_bavail * facts.f_frsize) + "\n" +
                                 std::to_string(mean_open_microseconds(path, clock)) + "\n";
        return write_all(1, said) ? 0 : 1;
      },
      clock, std::chrono::seconds(3));
  const auto lines = answer ? split(answer->out, '\n') : std::vector<std::string_view>();
  directory.total = directory.free = Absent::failed;
  directory.open_microseconds = Absent::failed;
  if (lines.size() < 3) return directory;
  if (const auto total = parse_unsigned(lines[0])) directory.total = Bytes(*total);
  if (const auto free = parse_unsigned(lines[1])) directory.free = Bytes(*free);
  const auto micros = parse_signed(lines[2]);
  directory.open_microseconds = micros && *micros >= 0 ? Reading<std::int64_t>(*micros)
                                                       : Reading<std::int64_t>(Absent::unsupported);
  return directory;
}

std::vector<std::string> silent_folders(const std::vector<std::string>& folders, Clock& clock,
                                        Duration patience) {
  std::vector<std::string> silent;
  std::vector<std::string> asked;
  // A child and its patience for each: many that are slow are not one that is dead. Four dead ones
  // are enough to say so.
  for (const std::string& folder : folders) {
    if (silent.size() == 4) return silent;
    if (std::find(asked.begin(), asked.end(), folder) != asked.end()) continue;
    asked.push_back(folder);
    const auto answer = ask_child(
        [&] {
          struct stat facts{};
          (void)::stat(folder.c_str(), &facts);
          return 0;
        },
        clock, patience);
    if (!answer) return silent;
    if (!answer->exit) silent.push_back(folder);
  }
  return silent;
}

// How fast one file of a folder is read, and how much of it was in memory before.

namespace {

constexpr std::size_t piece_size = 256 << 10;
constexpr std::size_t most_read = 64 << 20;
constexpr Duration usual_time = std::chrono::milliseconds(500);
/// A slower disk gets more time for the 4 MiB below which nothing is concluded.
constexpr std::size_t least_read = 4 << 20;
constexpr Duration longest_time = std::chrono::seconds(2);

struct ReadableFile {
  std::string name;
  std::uint64_t size = 0;
};

/// Regular files among the folder's first 256 entries, the largest first. What has a size and no
/// blocks is a hole, or lies on a tape that reading would bring back.
std::vector<ReadableFile> largest_files(const std::string& folder) {
  std::vector<ReadableFile> files;
  DIR* open = ::opendir(folder.c_str());
  if (open == nullptr) return files;
  int looked_at = 0;
  while (const dirent* entry = ::readdir(open)) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (++looked_at > 256) break;
    struct stat facts{};
    if (::lstat((folder + "/" + name).c_str(), &facts) != 0) continue;
    if (!S_ISREG(facts.st_mode) || facts.st_size <= 0 || facts.st_blocks == 0) continue;
    files.push_back({name, static_cast<std::uint64_t>(facts.st_size)});
  }
  ::closedir(open);
  std::ranges::stable_sort(files, std::greater(), &ReadableFile::size);
  return files;
}

/// Leaves the time of the last access as it was where the kernel lets its owner.
Fd open_to_read(const std::string& path) {
  constexpr int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const int fd = ::open(path.c_str(), flags | O_NOATIME);
  Fd file(fd >= 0 ? fd : ::open(path.c_str(), flags));
  struct stat facts{};
  const bool is_regular =
      file.is_open() && ::fstat(file.get(), &facts) == 0 && S_ISREG(facts.st_mode);
  return is_regular ? std::move(file) : Fd();
}

/// One entry per page of the file's beginning, its lowest bit set where the page is in memory.
/// Empty: not to be told. Since Linux 5.2 mincore() calls every page resident to those who could
/// not write to the file.
std::vector<unsigned char> pages_in_memory(int file, std::size_t length, std::size_t page) {
  struct stat facts{};
  if (::fstat(file, &facts) != 0) return {};
  const std::string itself = "/proc/self/fd/" + std::to_string(file);
  const bool is_told = facts.st_uid == ::geteuid() || ::access(itself.c_str(), W_OK) == 0;
  if (!is_told) return {};
  void* mapping = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, file, 0);
  if (mapping == MAP_FAILED) return {};
  std::vector<unsigned char> pages((length + page - 1) / page);
  if (::mincore(mapping, length, pages.data()) != 0) pages.clear();
  ::munmap(mapping, length);
  return pages;
}

struct ReadBytes {
  std::uint64_t bytes = 0;
  Duration spent{};
};

ReadBytes read_from_begin(int file, Clock& clock) {
  std::vector<char> piece(piece_size);
  ReadBytes read;
  const Instant begin = clock.now();
  while (read.bytes < most_read) {
    const ssize_t got = ::pread(file, piece.data(), piece.size(), static_cast<off_t>(read.bytes));
    read.spent = clock.now() - begin;
    if (got <= 0) return read;
    read.bytes += static_cast<std::uint64_t>(got);
    const Duration allowed = read.bytes < least_read ? longest_time : usual_time;
    if (read.spent >= allowed) return read;
  }
  return read;
}

/// In the child: bytes, microseconds, bytes that were in memory before (-1: not to be told), name.
std::string measure_in(const std::string& folder, Clock& clock) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  for (const ReadableFile& candidate : largest_files(folder)) {
    const Fd file = open_to_read(folder + "/" + candidate.name);
    if (!file.is_open()) continue;
    const auto length =
        static_cast<std::size_t>(std::min<std::uint64_t>(candidate.size, most_read));
    const auto pages = pages_in_memory(file.get(), length, page);
    const ReadBytes read = read_from_begin(file.get(), clock);
    if (read.bytes == 0) continue;
    std::int64_t resident = pages.empty() ? -1 : 0;
    for (std::size_t i = 0; i < pages.size() && i * page < read.bytes; ++i) {
      if ((pages[i] & 1) != 0) {
        resident += static_cast<std::int64_t>(std::min<std::uint64_t>(page, read.bytes - i * page));
      }
    }
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(read.spent).count();
    return std::to_string(read.bytes) + "\n" + std::to_string(micros) + "\n" +
           std::to_string(resident) + "\n" + candidate.name;
  }
  return "none";
}

}  // namespace

Reading<ReadSpeed> gather_read_speed(const std::string& folder, std::string_view file_system,
                                     Clock& clock) {
  const auto answer = ask_child([&] { return write_all(1, measure_in(folder, clock)) ? 0 : 1; },
                                clock, std::chrono::seconds(5));
  if (!answer || !answer->exit) return Absent::failed;
  if (answer->out == "none") return Absent::unsupported;
  const auto lines = split(answer->out, '\n');
  const auto bytes = lines.size() < 4 ? std::nullopt : parse_unsigned(lines[0]);
  const auto micros = bytes ? parse_signed(lines[1]) : std::nullopt;
  const auto resident = bytes ? parse_signed(lines[2]) : std::nullopt;
  if (!bytes || *bytes == 0 || !micros || !resident) return Absent::failed;
  // A name may have line breaks of its own.
  const auto name_begins = static_cast<std::size_t>(lines[3].data() - answer->out.data());
  ReadSpeed speed{.file = answer->out.substr(name_begins),
                  .bytes = Bytes(*bytes),
                  .microseconds = std::max<std::int64_t>(1, *micros),
                  .cached = Absent::unsupported};
  // ZFS keeps what was read in a cache of its own, which mincore() does not know.
  if (*resident >= 0 && file_system != "zfs") {
    speed.cached = static_cast<double>(*resident) / static_cast<double>(*bytes);
  }
  return speed;
}

}  // namespace berth
