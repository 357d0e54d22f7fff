#pragma once
// What a line of the kernel's log says of GPUs and of memory. It may come from /dev/kmsg or from a
// user's log. Pure; strangers may have written the line.

#include <optional>
#include <string_view>
#include <vector>

#include "snapshot/process.h"
#include "snapshot/snapshot.h"

namespace berth {

/// "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus."; drivers
/// before 470 name no process, others say `pid='<unknown>'`. `at` is left alone.
[[nodiscard]] std::optional<XidEvent> parse_xid(std::string_view text);

/// "Out of memory: Killed process 1234 (python) total-vm:8kB, anon-rss:4kB, …" (Linux 5.1 and
/// newer; "Memory cgroup out of memory: …" for a control group; older kernels "Kill process 1234
/// (python) score 900 or sacrifice child"). `at` is left alone.
[[nodiscard]] std::optional<OomKill> parse_oom_kill(std::string_view text);

/// "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 …", "… Open Kernel Module
/// for x86_64  550.54.15 …". `at` is left alone.
[[nodiscard]] std::optional<DriverLoad> parse_driver_load(std::string_view text);

/// Puts errors of a text, or of a simulation, into the order of their times, and numbers them so.
void number_by_date(Reading<std::vector<XidEvent>>& events);

}  // namespace berth
