#include <sys/statvfs.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "base/fd.h"
#include "base/text.h"
#include "host_environment/environment.h"
#include "host_environment/gather.h"
#include "host_environment/machine_side.h"

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

/// A control group's memory for files that nobody has read lately.
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

void read_processors(const std::string& root, Limits& limits) {
  const auto list_at = [](const auto& text) {
    const auto count = text ? count_in_list(*text) : std::nullopt;
    return count ? Reading<std::uint64_t>(*count) : Reading<std::uint64_t>(Absent::unsupported);
  };
  limits.cpus_online = list_at(read_file(root + "/sys/devices/system/cpu/online", 4096));
  const auto status = read_file(root + "/proc/self/status", 1 << 16);
  limits.cpus_allowed =
      list_at(status ? value_in_lines(*status, "Cpus_allowed_list", ':') : std::nullopt);
  read_quota(root, limits);
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

unsigned threads_of_a_job(const std::string& root) {
  Limits limits;
  read_processors(root, limits);
  std::uint64_t threads =
      sensible_threads(limits.cpus_online.get().value_or(std::thread::hardware_concurrency()));
  if (const auto& allowed = limits.cpus_allowed.get()) threads = std::min(threads, *allowed);
  if (const auto& quota = limits.cpu_quota.get()) {
    threads = std::min(threads, static_cast<std::uint64_t>(std::ceil(std::max(*quota, 0.0))));
  }
  return static_cast<unsigned>(std::max<std::uint64_t>(threads, 1));
}

Limits gather_limits(const std::string& root) {
  Limits limits;
  read_processors(root, limits);
  const auto cpus = read_file(root + "/proc/cpuinfo", 16 << 20);
  const auto vendor = cpus ? value_in_lines(*cpus, "vendor_id", ':') : std::nullopt;
  limits.cpu_vendor = vendor ? Reading<std::string>(*vendor) : Absent::unsupported;
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

}  // namespace berth
