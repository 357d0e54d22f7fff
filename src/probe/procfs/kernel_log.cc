// What the driver reported in the kernel log.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "probe/procfs/parse.h"
#include "probe/procfs/procfs_probe.h"
#include "snapshot/kernel_messages.h"

namespace berth {

namespace procfs {

std::optional<KernelMessage> parse_kernel_message(std::string_view record) {
  const std::size_t semicolon = record.find(';');
  if (semicolon == std::string_view::npos) return std::nullopt;
  const auto fields = split(record.substr(0, semicolon), ',');
  if (fields.size() < 3) return std::nullopt;
  const auto time = parse_unsigned(fields[2]);
  if (!time || !std::in_range<std::int64_t>(*time)) return std::nullopt;
  // The line ends the text; what follows it are the kernel's own key=value lines.
  const std::string_view text = record.substr(semicolon + 1);
  return KernelMessage{.boot_us = static_cast<std::int64_t>(*time),
                       .text = std::string(text.substr(0, text.find('\n')))};
}

/// When the machine was started, by how long ago the file says it was.
static std::optional<std::int64_t> boot_time_ms(const std::string& proc, WallTime now) {
  const auto text = read_file(proc + "/uptime");
  const auto uptime = text ? parse_unsigned(text->substr(0, text->find('.'))) : std::nullopt;
  if (!uptime) return std::nullopt;
  return now.unix_ms - static_cast<std::int64_t>(*uptime) * 1000;
}

bool for_each_message(int log, const std::string& proc, WallTime now,
                      const std::function<void(WallTime at, std::string_view)>& each) {
  std::optional<std::int64_t> boot_ms;  // read where there is a message: mostly there is none
  ReadBlock<16384> record;
  // One read brings one record; EPIPE: it was overwritten while we read, the next is there.
  constexpr int most_records = 1 << 17;
  for (int i = 0; i < most_records; ++i) {
    const ssize_t got = ::read(log, record.data(), record.size());
    if (got < 0 && (errno == EPIPE || errno == EINTR)) continue;
    if (got <= 0) break;
    const auto message = parse_kernel_message({record.data(), static_cast<std::size_t>(got)});
    if (!message) continue;
    if (!boot_ms) boot_ms = boot_time_ms(proc, now);
    if (!boot_ms) return false;
    each({*boot_ms + message->boot_us / 1000}, message->text);
  }
  return true;
}

}  // namespace procfs

Reading<std::vector<OomKill>> ProcfsProbe::oom_kills(WallTime now) const {
  const auto log = open_fd(source_.kernel_log, O_RDONLY | O_NONBLOCK);
  if (!log) return procfs::why_absent(log.error());
  std::vector<OomKill> kills;
  const auto keep = [&](WallTime at, std::string_view text) {
    auto kill = parse_oom_kill(text);
    if (!kill) return;
    kill->at = at;
    kills.push_back(std::move(*kill));
  };
  if (!procfs::for_each_message(log->get(), source_.proc, now, keep)) return Absent::failed;
  return kills;
}

Reading<std::vector<DriverLoad>> ProcfsProbe::driver_loads(WallTime now) const {
  const auto log = open_fd(source_.kernel_log, O_RDONLY | O_NONBLOCK);
  if (!log) return procfs::why_absent(log.error());
  std::vector<DriverLoad> loads;
  const auto keep = [&](WallTime at, std::string_view text) {
    auto load = parse_driver_load(text);
    if (!load) return;
    load->at = at;
    loads.push_back(std::move(*load));
  };
  if (!procfs::for_each_message(log->get(), source_.proc, now, keep)) return Absent::failed;
  return loads;
}

}  // namespace berth
