#pragma once
// The run's process tree, from /proc: the keeper's descendants. Daemonised processes belong to it,
// as the keeper adopts them. The keeper's own processes do not (its sampler lives in the keeper's
// session).

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/reading.h"
#include "base/units.h"

namespace berth {

/// The keeper's descendants now, zombies and `except` left out.
[[nodiscard]] std::vector<ProcessId> run_processes(pid_t keeper, const std::string& proc,
                                                   const std::vector<ProcessId>& except = {});

/// Whether a process of the run may live. Only the keeper itself asks, and it reaps nobody
/// meanwhile. An orphan becomes the keeper's child before its parent can be reaped. So each live
/// one has an ancestor among the keeper's children. That ancestor may be dead: the dead count until
/// they are reaped. A search for the living can miss one whose parents end while it goes on.
[[nodiscard]] bool may_have_run_processes(pid_t keeper, const std::string& proc,
                                          const std::vector<ProcessId>& except = {});

/// All its descendants now, whatever their session, zombies left out.
[[nodiscard]] std::vector<ProcessId> descendants_of(pid_t process, const std::string& proc);

/// The real user of a process; nothing: it has gone.
[[nodiscard]] std::optional<uid_t> user_of(pid_t pid, const std::string& proc);

/// The words that it was started with; none: they cannot be read.
[[nodiscard]] std::vector<std::string> command_of(pid_t pid, const std::string& proc = "/proc");

/// Every process in the session of this number.
[[nodiscard]] std::vector<ProcessId> processes_in_session(pid_t session, const std::string& proc);

/// Processes of this user that carry BERTH_RUN=`run` in their environment: the tree of a run whose
/// keeper has gone. `except` is left out.
[[nodiscard]] std::vector<ProcessId> processes_named_for(std::string_view run, pid_t except,
                                                         const std::string& proc);

/// Whether the process has a file open whose path begins with one of `beginnings`. A process that
/// has gone has none.
[[nodiscard]] Reading<bool> device_open_in(pid_t pid, const std::vector<std::string>& beginnings,
                                           const std::string& proc);
/// The same for a caller that must not miss one: what cannot be read counts as open.
[[nodiscard]] bool has_device_open(pid_t pid, const std::vector<std::string>& beginnings,
                                   const std::string& proc);
[[nodiscard]] std::size_t count_with_device_open(const std::vector<ProcessId>& processes,
                                                 const std::vector<std::string>& beginnings,
                                                 const std::string& proc);

/// Sends the signal to each; those that have ended are no failure. TERM does not reach an srun that
/// stands for the ranks of another node (run/ranks/other_nodes.h).
void signal_all(const std::vector<ProcessId>& processes, int signal);

/// Follows the tree once a second at little cost: only processes not seen before are examined to
/// find their parents.
class TreeWatch {
 public:
  TreeWatch(pid_t keeper, std::string proc);
  /// Watches a process and its descendants, whatever their session.
  [[nodiscard]] static TreeWatch of(pid_t process, std::string proc);
  struct TreeUse {
    std::vector<pid_t> pids;
    Milliseconds cpu{0};  // of all seen so far, those that ended included
    Bytes memory_resident{0};
    Reading<Bytes> read;
    Reading<Bytes> written;
  };
  [[nodiscard]] TreeUse look();
  /// Descendants of this process are of the tree, too. It is a container's first one, which its
  /// engine has started.
  void add_root(pid_t process);

 private:
  struct Member {
    std::uint64_t cpu_ticks = 0;
    std::optional<std::uint64_t> read;
    std::optional<std::uint64_t> written;
  };
  void learn_newcomers(const std::vector<pid_t>& present);
  bool learn_by_children();
  pid_t keeper_;  // 0: there is none
  std::string proc_;
  std::vector<pid_t> roots_;  // besides the keeper
  std::map<pid_t, Member> members_;
  bool asks_children_ = true;     // not who else there is
  std::vector<pid_t> strangers_;  // sorted; looked at once, not ours
  Member gone_;                   // sums of those that ended
};

}  // namespace berth
