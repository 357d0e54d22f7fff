#include "probe/driver_log.h"

#include <fcntl.h>
#include <unistd.h>

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
  const auto keep = [&](WallTime at, std::string_view text) {
    if (auto error = parse_xid(text)) {
      error->at = at;
      errors.push_back(std::move(*error));
    } else if (parse_driver_load(text)) {
      loaded_ = at;
    }
  };
  if (!procfs::for_each_message(log_.get(), proc_, now, keep)) {
    told.errors = Absent::failed;
    return told;
  }
  told.errors = std::move(errors);
  if (loaded_) told.loaded = *loaded_;
  return told;
}

}  // namespace berth
