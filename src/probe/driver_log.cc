#include "probe/driver_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "probe/procfs/parse.h"
#include "snapshot/kernel_messages.h"

namespace berth {

DriverMessages DriverLog::read(WallTime now) {
  DriverMessages told;
  if (loaded_) told.loaded = *loaded_;
  if (!log_.is_open()) {
    auto log = open_fd(path_, O_RDONLY | O_NONBLOCK);
    if (!log) {
      told.errors = procfs::why_absent(log.error());
      return told;
    }
    if (from_ == From::end && ::lseek(log->get(), 0, SEEK_END) < 0) {
      told.errors = Absent::failed;
      return told;
    }
    log_ = std::move(*log);
  }
  std::vector<XidEvent> errors;
  std::optional<std::int64_t> boot_ms;  // read where there is a message of ours
  ReadBlock<16384> record;
  // One read brings one record; EPIPE: it was overwritten while we read, the next is there.
  constexpr int most_records = 1 << 17;
  for (int i = 0; i < most_records; ++i) {
    const ssize_t got = ::read(log_.get(), record.data(), record.size());
    if (got < 0 && (errno == EPIPE || errno == EINTR)) continue;
    if (got <= 0) break;
    const auto message =
        procfs::parse_kernel_message({record.data(), static_cast<std::size_t>(got)});
    if (!message) continue;
    auto error = parse_xid(message->text);
    if (!error && !parse_driver_load(message->text)) continue;
    if (!boot_ms) boot_ms = procfs::boot_time_ms(proc_, now);
    if (!boot_ms) {
      told.errors = Absent::failed;
      return told;
    }
    const WallTime at{*boot_ms + message->boot_us / 1000};
    if (error) {
      error->at = at;
      errors.push_back(std::move(*error));
    } else {
      loaded_ = at;
    }
  }
  told.errors = std::move(errors);
  if (loaded_) told.loaded = *loaded_;
  return told;
}

}  // namespace berth
