#pragma once
// Processes as /proc tells of them (proc(5)): which there are, the line of /proc/PID/stat, the
// files that one has open. A process's name is a stranger's choice: nothing in its line is believed
// until it has been parsed.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace berth {

struct ProcessStat {
  ProcessId id;
  std::string comm;  // at most 15 bytes of the process's own choice
  char state = '?';
  pid_t parent = 0;
  pid_t session = 0;
  bool has_terminal = false;    // one that controls it, and that is there
  std::uint64_t cpu_ticks = 0;  // user and system
  std::uint64_t resident_pages = 0;
  /// Where its first stack begins: at random, anew with each program it becomes. Nothing: the
  /// kernel does not tell us of this one.
  std::optional<std::uint64_t> stack_begin;
};

/// Nothing: not such a line.
[[nodiscard]] std::optional<ProcessStat> parse_process_stat(std::string_view text);

/// The line of a living process; nothing: there is none, or it may not be seen.
[[nodiscard]] std::optional<ProcessStat> read_process_stat(pid_t pid, const std::string& proc);

/// Those that are listed, by number.
[[nodiscard]] Result<std::vector<pid_t>> pids_in(const std::string& proc);

/// Whether others are not even listed (hidepid=2): the first of all is always there. A folder
/// without "self" is no /proc, and hides nobody.
[[nodiscard]] bool hides_others(const std::vector<pid_t>& listed, const std::string& proc);

/// An open file of a process: its descriptor, and what /proc/PID/fd/DESCRIPTOR points at.
struct OpenFile {
  int descriptor = 0;
  std::string path;  // empty: the kernel does not tell it (it is longer than a page)
};
/// Those in such a folder, "/proc/PID/fd". One that was closed meanwhile is left out.
/// no_permission: it is another user's process. not_found: it has ended.
[[nodiscard]] Result<std::vector<OpenFile>> open_files_in(const std::string& folder);

/// Whether it is there and runs: a zombie has ended, whenever its end is taken.
[[nodiscard]] bool lives(const ProcessId& process, const std::string& proc = "/proc");

/// Its parents, nearest first, up to init.
[[nodiscard]] std::vector<pid_t> ancestors_of(pid_t pid, const std::string& proc);

/// Whether a mountinfo (proc(5)) says that /proc shows every user what the others run: it is
/// mounted there, without hidepid. Berth writes nobody's command where others can read it unless it
/// does.
[[nodiscard]] bool proc_shows_commands(std::string_view mountinfo);

}  // namespace berth
