#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"
#include "world/gather.h"
#include "world/machine_side.h"

namespace berth {

namespace {

Reading<Bytes> kibibytes_of(std::string_view meminfo, std::string_view key) {
  const auto value = value_in_lines(meminfo, key, ':');
  const auto number = value ? parse_unsigned(value->substr(0, value->find(' '))) : std::nullopt;
  return number ? Reading<Bytes>(Bytes(*number << 10)) : Reading<Bytes>(Absent::unsupported);
}

Reading<std::uint64_t> number_in(const std::string& path) {
  const auto text = read_file(path, 4096);
  const auto number = text ? parse_unsigned(trimmed(*text)) : std::nullopt;
  return number ? Reading<std::uint64_t>(*number) : Reading<std::uint64_t>(Absent::unsupported);
}

Reading<std::string> word_in(const std::string& path) {
  const auto text = read_file(path, 4096);
  return text ? Reading<std::string>(std::string(trimmed(*text)))
              : Reading<std::string>(Absent::unsupported);
}

/// The control groups of this process, the innermost first, as folders; of the unified hierarchy
/// or of one controller.
std::vector<std::string> group_folders(const std::string& root, std::string_view controller) {
  std::vector<std::string> folders;
  const auto groups = read_file(root + "/proc/self/cgroup");
  for (const std::string_view line :
       groups ? split(*groups, '\n') : std::vector<std::string_view>()) {
    const auto parts = split(line, ':');
    if (parts.size() < 3) continue;
    // The first version names several controllers of one hierarchy: "cpu,cpuacct".
    const auto controllers = split(parts[1], ',');
    const bool mine = controller.empty()
                          ? parts[1].empty()
                          : std::ranges::find(controllers, controller) != controllers.end();
    if (!mine) continue;
    const std::string base =
        root + "/sys/fs/cgroup" + (controller.empty() ? "" : "/" + std::string(controller));
    std::string path(parts[2] == "/" ? "" : parts[2]);
    for (; !path.empty(); path.resize(path.rfind('/'))) folders.push_back(base + path);
    folders.push_back(base);  // also what a container sees of its own
  }
  return folders;
}

void read_quota(const std::string& root, Limits& limits) {
  limits.cpu_quota = Absent::unsupported;
  const auto tighten = [&](std::uint64_t quota, std::uint64_t period) {
    if (period == 0) return;
    const double cpus = static_cast<double>(quota) / static_cast<double>(period);
    if (!limits.cpu_quota.get() || cpus < *limits.cpu_quota.get()) limits.cpu_quota = cpus;
  };
  for (const std::string& folder : group_folders(root, "")) {
    const auto text = read_file(folder + "/cpu.max", 4096);  // "max 100000" or "200000 100000"
    if (!text) continue;
    const auto words = split(trimmed(*text), ' ');
    const auto quota = parse_unsigned(words[0]);
    if (quota && words.size() == 2) tighten(*quota, parse_unsigned(words[1]).value_or(0));
  }
  for (const std::string& folder : group_folders(root, "cpu")) {
    const auto quota = number_in(folder + "/cpu.cfs_quota_us");
    if (quota.get())
      tighten(*quota.get(), number_in(folder + "/cpu.cfs_period_us").get().value_or(0));
  }
}

/// Of a control group: what of its memory is files' that nobody has looked at lately.
std::optional<std::uint64_t> inactive_file(const std::string& folder) {
  const auto text = read_file(folder + "/memory.stat", 1 << 16);
  if (!text) return std::nullopt;
  std::optional<std::uint64_t> found;
  for (const std::string_view line : split(*text, '\n')) {
    const auto words = split(line, ' ');
    if (words.size() != 2) continue;
    // The first version of control groups tells the whole tree's as total_….
    if (words[0] == "total_inactive_file") return parse_unsigned(words[1]);
    if (words[0] == "inactive_file") found = parse_unsigned(words[1]);
  }
  return found;
}

void read_memory_limit(const std::string& root, Limits& limits) {
  limits.memory_limit = limits.memory_charged = Absent::unsupported;
  const auto tighten = [&](const std::string& limit, const std::string& charged) {
    const auto bytes = number_in(limit);
    // "No limit" is a number near 2^63 in the first version of control groups.
    if (!bytes.get() || *bytes.get() >= (std::uint64_t{1} << 60)) return;
    if (limits.memory_limit.get() && limits.memory_limit.get()->count() <= *bytes.get()) return;
    limits.memory_limit = Bytes(*bytes.get());
    // Files that were read are charged as well and given back when memory is wanted.
    const auto now = number_in(charged);
    const auto cached = inactive_file(limit.substr(0, limit.rfind('/')));
    const bool known = now.get() && cached && *cached <= *now.get();
    limits.memory_charged =
        known ? Reading<Bytes>(Bytes(*now.get() - *cached))
              : (now.get() ? Reading<Bytes>(Absent::unsupported) : Reading<Bytes>(now.why()));
  };
  for (const std::string& folder : group_folders(root, "")) {
    tighten(folder + "/memory.max", folder + "/memory.current");
  }
  for (const std::string& folder : group_folders(root, "memory")) {
    tighten(folder + "/memory.limit_in_bytes", folder + "/memory.usage_in_bytes");
  }
}

void read_open_files(const std::string& root, Limits& limits) {
  limits.open_files = limits.open_files_hard = Absent::unsupported;
  const auto text = read_file(root + "/proc/self/limits", 1 << 16);
  for (const std::string_view line : text ? split(*text, '\n') : std::vector<std::string_view>()) {
    constexpr std::string_view name = "Max open files";
    if (!line.starts_with(name)) continue;
    std::vector<std::string_view> words;
    for (const std::string_view word : split(line.substr(name.size()), ' ')) {
      if (!word.empty()) words.push_back(word);
    }
    if (words.size() < 2) return;
    if (const auto soft = parse_unsigned(words[0])) limits.open_files = *soft;
    if (const auto hard = parse_unsigned(words[1])) limits.open_files_hard = *hard;
  }
}

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

std::optional<std::uint64_t> count_in_list(std::string_view list) {
  std::uint64_t count = 0;
  for (const std::string_view part : split(trimmed(list), ',')) {
    const std::size_t dash = part.find('-');
    const auto first = parse_unsigned(part.substr(0, dash));
    const auto last = dash == part.npos ? first : parse_unsigned(part.substr(dash + 1));
    if (!first || !last || *last < *first || *last > 1'000'000) return std::nullopt;
    count += *last - *first + 1;
  }
  return count;
}

Limits gather_limits(const std::string& root) {
  Limits limits;
  const auto list_at = [](const auto& text) {
    const auto count = text ? count_in_list(*text) : std::nullopt;
    return count ? Reading<std::uint64_t>(*count) : Reading<std::uint64_t>(Absent::unsupported);
  };
  limits.cpus_online = list_at(read_file(root + "/sys/devices/system/cpu/online", 4096));
  const auto status = read_file(root + "/proc/self/status", 1 << 16);
  limits.cpus_allowed =
      list_at(status ? value_in_lines(*status, "Cpus_allowed_list", ':') : std::nullopt);
  const auto cpus = read_file(root + "/proc/cpuinfo", 16 << 20);
  const auto vendor = cpus ? value_in_lines(*cpus, "vendor_id", ':') : std::nullopt;
  limits.cpu_vendor = vendor ? Reading<std::string>(*vendor) : Absent::unsupported;
  read_quota(root, limits);
  const std::string meminfo = read_file(root + "/proc/meminfo", 1 << 16).value_or("");
  limits.memory_total = kibibytes_of(meminfo, "MemTotal");
  limits.memory_available = kibibytes_of(meminfo, "MemAvailable");
  limits.swap_total = kibibytes_of(meminfo, "SwapTotal");
  limits.swap_free = kibibytes_of(meminfo, "SwapFree");
  read_memory_limit(root, limits);
  struct statvfs shm{};
  if (::statvfs((root + "/dev/shm").c_str(), &shm) == 0) {
    limits.shared_memory_total = Bytes(shm.f_blocks * shm.f_frsize);
    limits.shared_memory_free = Bytes(shm.f_bavail * shm.f_frsize);
  } else {
    limits.shared_memory_total = limits.shared_memory_free = Absent::unsupported;
  }
  read_open_files(root, limits);
  const std::string frequency = root + "/sys/devices/system/cpu/cpu0/cpufreq/";
  limits.governor = word_in(frequency + "scaling_governor");
  limits.frequency_driver = word_in(frequency + "scaling_driver");
  return limits;
}

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
