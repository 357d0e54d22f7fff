// The working directory, and folders that may not answer: each asked in a process of its own.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>

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

}  // namespace berth
