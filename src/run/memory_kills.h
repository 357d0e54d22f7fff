#pragma once
// How often the kernel has killed a process because the main memory was used up. The source is the
// kernel's own counters. The keeper reads them before the job, and again after it ended badly.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/note.h"
#include "base/process.h"
#include "run/run.h"

namespace berth {

/// Unit    processes, since the control group was made or the machine was started.
/// Absent  no such counter (an old kernel, no memory controller, the root group).
/// Source  memory.events of the caller's control group (v2), memory.oom_control (v1). Both also
///         count kills for want of memory in the whole machine (mm/oom_kill.c).
///         /proc/vmstat for the machine.
struct MemoryKills {
  std::optional<std::uint64_t> of_group;
  std::optional<std::uint64_t> of_machine;
};
[[nodiscard]] MemoryKills count_memory_kills(const std::string& proc, const std::string& sys);

/// What the record says of it. "oom_kill": the group's counter rose. "oom_kill_on_machine": that
/// counter could not be read, and the job was killed. Nothing: none was killed, or the job ended
/// well.
[[nodiscard]] std::optional<Note> memory_kill_event(const MemoryKills& before,
                                                    const MemoryKills& after, const Exit& exit);

/// What the judge says of a run. It reads what the job printed: a mistake of ours in that is
/// nothing, and must not cost the run its end.
[[nodiscard]] std::optional<Sentence> memory_verdict(const MemoryJudge& judge,
                                                     const RunRecord& run);

/// "oom_kill 3" among the lines of such a counter file; nothing: it has no such line.
[[nodiscard]] std::optional<std::uint64_t> oom_kills_in(std::string_view text);

/// The path of the memory controller's group in /proc/PID/cgroup, as below SYS/fs/cgroup; nothing:
/// none.
[[nodiscard]] std::optional<std::string> memory_group(std::string_view cgroup_text);

}  // namespace berth
