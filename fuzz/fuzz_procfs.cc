// links: berth_probe
// /proc's texts: names of commands and control groups are chosen by strangers.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/port.h"
#include "base/process_stat.h"
#include "base/user_name.h"
#include "probe/procfs/parse.h"
#include "snapshot/kernel_messages.h"

namespace fuzz_procfs {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto stat = berth::parse_process_stat(text)) {
    BERTH_CHECK(stat->id.pid >= 0 && stat->parent >= 0, "no process has a negative number");
  }
  for (const std::string& word : berth::procfs::parse_cmdline(text)) {
    BERTH_CHECK(word.find('\0') == std::string::npos, "words end where the kernel says");
  }
  (void)berth::procfs::parse_status_uid(text);
  for (const std::uint64_t inode : berth::sockets_at_port(text, 29500)) {
    BERTH_CHECK(inode != 0, "a socket that somebody has");
  }
  (void)berth::procfs::parse_boot_time(text);
  if (const auto message = berth::procfs::parse_kernel_message(text)) {
    (void)berth::parse_xid(message->text);
    (void)berth::parse_driver_load(message->text);
    const auto kill = berth::parse_oom_kill(message->text);
    BERTH_CHECK(!kill || kill->pid > 0, "a process has a number");
  }
  for (const uid_t uid : {0U, 1000U, 4294967295U}) {
    const auto user = berth::user_in_passwd(text, uid);
    BERTH_CHECK(!user || !user->empty(), "a user has a name");
  }
  if (const auto enclosure = berth::procfs::enclosure_in_cgroup(text)) {
    BERTH_CHECK(!enclosure->runtime.empty() && !enclosure->id.empty(), "it is something");
    (void)berth::procfs::container_text(*enclosure);
  }
  return 0;
}

}  // namespace fuzz_procfs
