#pragma once
// Readers of /proc's texts. Names of commands and control groups are chosen by strangers: nothing
// in a text is believed until it has been parsed. Only for_each_message() reads files.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "snapshot/process.h"
#include "snapshot/snapshot.h"

namespace berth::procfs {

/// What a file of /proc that could not be read leaves of a reading.
[[nodiscard]] Absent why_absent(const Error& error);

/// The words of /proc/PID/cmdline. A process that rewrote its title (one word with spaces) has it
/// split at them. Empty: a zombie or a thread of the kernel.
[[nodiscard]] std::vector<std::string> parse_cmdline(std::string_view text);

/// The real user in /proc/PID/status.
[[nodiscard]] std::optional<uid_t> parse_status_uid(std::string_view text);

/// How often the kernel took the processor from it and gave it back, in /proc/PID/status.
[[nodiscard]] std::optional<std::uint64_t> parse_context_switches(std::string_view text);

/// A record of /dev/kmsg: "priority,sequence,microseconds since boot,flags;text".
struct KernelMessage {
  std::int64_t boot_us = 0;
  std::string text;
};
[[nodiscard]] std::optional<KernelMessage> parse_kernel_message(std::string_view record);
/// Boot time in /proc/stat, in seconds since 1970.
[[nodiscard]] std::optional<std::int64_t> parse_boot_time(std::string_view text);

/// What encloses a process by its /proc/PID/cgroup (v1 or v2), without its name and image; nothing:
/// no more than a login does.
[[nodiscard]] std::optional<Enclosure> enclosure_in_cgroup(std::string_view text);
/// In words: "docker 1a2b3c4d5e6f", "podman …", "containerd …", "kubernetes pod 2f5c…",
/// "slurm job 42", "systemd unit ollama.service".
[[nodiscard]] std::string container_text(const Enclosure& enclosure);

/// Each message of an open log, from where it has been read to, to its end; `proc`/uptime tells
/// when it came. False: that is not known.
[[nodiscard]] bool for_each_message(int log, const std::string& proc, WallTime now,
                                    const std::function<void(WallTime at, std::string_view)>& each);

}  // namespace berth::procfs
