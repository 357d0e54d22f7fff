#pragma once
// Processes: the only place that forks, executes, signals and waits (with src/guard). Signals go
// through a pidfd after the start time was compared, so a reused pid is never hit.

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/ids.h"

namespace berth {

/// How a process ended: with an exit code, or by a signal.
struct Exit {
  int code = 0;    // meaningful when signal is 0
  int signal = 0;  // 0: it exited by itself
  bool dumped = false;
  friend bool operator==(const Exit&, const Exit&) = default;
};

/// Exit codes (doc/EXIT_CODES.md). `berth run` uses the job's own, and 124 to 127 as env(1) and
/// timeout(1) do.
namespace exit_code {
constexpr int ok = 0;
constexpr int failed = 1;
constexpr int usage = 2;
constexpr int no_device = 124;
constexpr int berth_failed = 125;
constexpr int cannot_execute = 126;
constexpr int not_found = 127;
}  // namespace exit_code

/// What a shell would report: the code, or 128 + signal.
[[nodiscard]] int shell_exit_code(const Exit& exit);

[[nodiscard]] ProcessId own_process_id();

/// The process with this pid as of now. not_found: there is none.
[[nodiscard]] Result<ProcessId> identify_process(pid_t pid, const std::string& proc = "/proc");

/// Ends this process without destructors, after writing what is buffered. For a time when
/// destructors would wait for another thread.
[[noreturn]] void end_process_now(int code);

/// Forks; the child runs `body`, then _exit()s with what it returns (no atexit handlers, no
/// buffers flushed). For single-threaded callers.
[[nodiscard]] Result<pid_t> fork_process(const std::function<int()>& body);

/// A descriptor that becomes readable when the process ends. By syscall(2): glibc's wrapper
/// pidfd_open() needs a newer glibc than we promise. unsupported before Linux 5.3.
[[nodiscard]] Result<Fd> open_pidfd(pid_t pid);

/// Sends a signal to exactly this process. not_found: it has ended, or the pid is another's now.
/// invalid: its start is unknown, so it cannot be told.
[[nodiscard]] Result<void> send_signal(ProcessId process, int signal);
/// To a child of ours that was not reaped yet: its pid cannot be another's.
[[nodiscard]] Result<void> signal_child(pid_t child, int signal);
/// Sets the nice value (-20 to 19) of exactly this process. not_found: as for send_signal.
[[nodiscard]] Result<void> set_nice(ProcessId process, int nice);

/// Waits for a child. Without a deadline in sight: use open_pidfd and poll first.
[[nodiscard]] Result<Exit> reap(pid_t child);
/// Waits for a child's end and leaves it to be reaped: until then its number is nobody else's.
[[nodiscard]] Result<Exit> await_end(pid_t child);
/// The child's end if it has ended, nothing if it still runs.
[[nodiscard]] Result<std::optional<Exit>> reap_if_ended(pid_t child);

/// What happened to a child, stopped and continued included.
struct ChildChange {
  enum class What { ended, stopped, continued } what = What::ended;
  pid_t pid = 0;
  Exit exit;            // ended
  int stop_signal = 0;  // stopped
};
/// The next change of any child (reaps it if it ended); nothing: none has changed, or there is
/// none. `before_reaping` is told of an end while another process that may be its parent can
/// still learn of it.
[[nodiscard]] std::optional<ChildChange> next_child_change(
    const std::function<void(const ChildChange&)>& before_reaping = {});

/// The kernel's own word that this process has no child, living or yet to be reaped. A process that
/// adopts its orphans then has no descendant.
[[nodiscard]] bool has_no_child();

/// User and system time of all children waited for, and of those they waited for.
[[nodiscard]] std::chrono::milliseconds children_cpu_time();

/// From now on orphaned descendants become our children instead of init's.
[[nodiscard]] Result<void> adopt_orphans();
/// Leaves the session, the process group and the terminal.
[[nodiscard]] Result<void> start_session();
/// SIGKILLed when the process that forked us dies. A parent that is already gone is an error.
[[nodiscard]] Result<void> die_with_parent(pid_t parent);
[[nodiscard]] pid_t process_group_of(pid_t pid);

/// /dev/null in place of the descriptors 0, 1, 2.
[[nodiscard]] Result<void> close_standard_streams();
/// The same for 0 and 1 alone: stderr stays for our own words.
[[nodiscard]] Result<void> close_input_and_output();
/// Opens /dev/null at those of 0, 1 and 2 that are closed. Else the next opened file gets the
/// number, and our stderr is written into it. Call it before anything is opened.
[[nodiscard]] Result<void> fill_closed_streams();
/// Closes everything from 3 up but these, close-on-exec or not. For a child that must not hold its
/// parent's connections.
void close_descriptors(const std::vector<int>& except);
/// Closes what a caller left open for its job: not close-on-exec, 3 and above. A process that only
/// watches must not hold the other end of a pipe.
void close_inherited_descriptors();
/// The descriptor survives exec from now on.
[[nodiscard]] Result<void> keep_on_exec(int fd);

struct Pipe {
  Fd read;
  Fd write;
};
/// Both ends are 3 or above, so that a child whose standard streams are replaced keeps them.
[[nodiscard]] Result<Pipe> make_pipe();

/// Runs a short command with no input and its errors thrown away, and gives its output.
/// timeout: killed when `patience` was over; io: it failed, with its exit code.
[[nodiscard]] Result<std::string> output_of(const std::vector<std::string>& command,
                                            const std::vector<std::string>& environment,
                                            const std::string& search_path, Clock& clock,
                                            Duration patience);

/// What a child said and how it ended.
struct ChildAnswer {
  std::optional<Exit> exit;  // nothing: it was killed, with all it started, when its time was over
  std::string out;           // at most `most_out` bytes
  std::string err;           // at most 64 KiB
  bool is_cut = false;       // it said more on one of them
};
inline constexpr std::size_t usual_answer = 1 << 20;
/// Forks; the child runs `body` in a session of its own, its descriptors 1 and 2 read by us, 0
/// empty. For what may hang or crash: code of others, a driver, a network file system. One that
/// cannot even be killed (stuck in the kernel) is left behind, not waited for.
[[nodiscard]] Result<ChildAnswer> ask_child(const std::function<int()>& body, Clock& clock,
                                            Duration patience, std::size_t most_out = usual_answer);
/// The same for a command. One that cannot be executed ends with 127 and says why on its stderr.
[[nodiscard]] Result<ChildAnswer> answer_of(const std::vector<std::string>& command,
                                            const std::vector<std::string>& environment,
                                            const std::string& search_path, Clock& clock,
                                            Duration patience, std::size_t most_out = usual_answer);
/// What the waiting parent does meanwhile.
struct WhileAsked {
  std::function<void(std::string_view piece)> on_err;  // null: it hears all at the end
  std::function<bool()> is_enough;                     // asked often; true: its time is over
};
/// ask_child(), with that.
[[nodiscard]] Result<ChildAnswer> hear_child(const std::function<int()>& body, Clock& clock,
                                             Duration patience, const WhileAsked& meanwhile,
                                             std::size_t most_out = usual_answer);

/// The file of this program, for a command that others start. Where another has taken its place the
/// kernel's link says "PATH (deleted)": then that one. Nothing: there is none any more. What this
/// process itself becomes is better named by the link.
inline constexpr const char* link_to_program = "/proc/self/exe";
[[nodiscard]] std::optional<std::string> own_program(const std::string& link = link_to_program);

/// Replaces this process. Only returns on failure; `environment` holds NAME=value strings.
/// The error's code is not_found (exit 127 by convention) or no_permission (126) or io.
[[nodiscard]] Error execute(const std::vector<std::string>& command,
                            const std::vector<std::string>& environment,
                            const std::string& search_path);

/// Where programs are looked for when the caller's environment has no PATH.
inline constexpr const char* default_search_path = "/usr/local/bin:/usr/bin:/bin";

/// Its PATH, or else that.
[[nodiscard]] std::string search_path_in(const std::vector<std::string>& environment);

/// Looks `name` up as execvp would, in `search_path` (colon separated).
[[nodiscard]] Result<std::string> find_executable(const std::string& name,
                                                  const std::string& search_path);

}  // namespace berth
