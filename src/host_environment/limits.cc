#include <sys/statvfs.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "base/control_group.h"
#include "base/fd.h"
#include "base/text.h"
#include "host_environment/environment.h"
#include "host_environment/gather.h"
#include "host_environment/machine_side.h"

namespace berth {

namespace {

Reading<Bytes> kibibytes_of(std::string_view meminfo, std::string_view key) {
  const auto number = number_in_lines(meminfo, key);
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

std::string own_groups(const std::string& root) {
  return read_file(root + "/proc/self/cgroup").value_or("");
}
std::string mounted_below(const std::string& root) { return root + "/sys/fs/cgroup"; }

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
  for (const std::string& folder : group_folders(own_groups(root), "", mounted_below(root))) {
    tighten(folder + "/memory.max", folder + "/memory.current");
  }
  for (const std::string& folder : group_folders(own_groups(root), "memory", mounted_below(root))) {
    tighten(folder + "/memory.limit_in_bytes", folder + "/memory.usage_in_bytes");
  }
}

void read_open_files(const std::string& root, Limits& limits) {
  limits.open_files = limits.open_files_hard = Absent::unsupported;
  const auto text = read_file(root + "/proc/self/limits", 1 << 16);
  for (const std::string_view line : text ? split(*text, '\n') : std::vector<std::string_view>()) {
    constexpr std::string_view name = "Max open files";
    if (!line.starts_with(name)) continue;
    const auto words = words_in(line.substr(name.size()));
    if (words.size() < 2) return;
    if (const auto soft = parse_unsigned(words[0])) limits.open_files = *soft;
    if (const auto hard = parse_unsigned(words[1])) limits.open_files_hard = *hard;
  }
}

void read_processors(const std::string& root, Limits& limits) {
  const auto list_at = [](const auto& text) {
    const auto cpus = text ? numbers_in_list(*text) : std::nullopt;
    return cpus ? Reading<std::uint64_t>(cpus->size())
                : Reading<std::uint64_t>(Absent::unsupported);
  };
  limits.cpus_online = list_at(read_file(root + "/sys/devices/system/cpu/online", 4096));
  const auto status = read_file(root + "/proc/self/status", 1 << 16);
  limits.cpus_allowed =
      list_at(status ? value_in_lines(*status, "Cpus_allowed_list", ':') : std::nullopt);
  const auto quota = cpu_quota(own_groups(root), mounted_below(root));
  limits.cpu_quota = quota ? Reading<double>(*quota) : Reading<double>(Absent::unsupported);
}

}  // namespace

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
