#pragma once
// StatReader: the lines /proc/PID/stat of one look. Making such a line is most of what the kernel
// has to do for a look at a process. Between looks the files stay open, and what cannot have
// changed is not read again.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/process_stat.h"
#include "base/reading.h"
#include "base/result.h"

namespace berth {

struct StatRead {
  std::optional<ProcessStat> stat;
  Absent why = Absent::failed;  // where there is none
  /// What the process had run when it was read. Nothing: that is not known here.
  std::optional<Duration> cpu_time;
};

class StatReader {
 public:
  /// What a process has run so far. Nothing: it is not there, or this is not known of it.
  using CpuTimeOf = std::function<std::optional<Duration>(pid_t)>;

  /// `cpu_time`: none takes the kernel's clocks, where `proc` is the kernel's and of this PID
  /// namespace. Elsewhere every line is read at every look.
  explicit StatReader(std::string proc, CpuTimeOf cpu_time = nullptr);

  /// Forgets what was read for the look before. Lines of processes that did not run since then stay
  /// for a few seconds. In that time a process that waits for a processor may still be called
  /// asleep. Memory that was taken from it may still be shown.
  void begin_look(Instant now);

  [[nodiscard]] StatRead stat_of(pid_t pid);
  /// From its parent to the first process of all.
  [[nodiscard]] std::vector<pid_t> ancestors_of(pid_t pid);
  /// Whether the folder is the kernel's, and no copy of one.
  [[nodiscard]] bool is_procfs();

 private:
  struct Entry {
    StatRead read;
    Instant read_at;
    bool is_rested = false;  // read in a look before
  };
  Entry& entry_of(pid_t pid);
  [[nodiscard]] Entry read_anew(pid_t pid);
  [[nodiscard]] bool has_rested(pid_t pid, const Entry& entry);
  [[nodiscard]] std::optional<Duration> cpu_time_of(pid_t pid);
  [[nodiscard]] Result<std::string> text_of(pid_t pid);

  std::string proc_;
  CpuTimeOf cpu_time_;
  Instant now_{};
  unsigned looks_ = 0;
  std::map<pid_t, Entry> entries_;  // of this look
  std::map<pid_t, Entry> before_;   // of the look before
  std::map<pid_t, Fd> files_;       // open from the second look on
  std::size_t most_files_;
  std::optional<bool> is_procfs_;
  std::optional<bool> is_of_this_namespace_;
};

}  // namespace berth
