#pragma once
// One job's life (doc/DESIGN.md, "Leases and runs"). Gets devices, starts the job as if by hand,
// waits for it, says what it used. A run has four processes and a signal listener. The launcher
// (this one) only waits. The keeper holds the lease and closes the record. The sampler looks once a
// second.
//
// `run_job` is all of `berth run`; the caller wires the sources of truth and prints the words.

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/process.h"
#include "base/result.h"
#include "base/sentence.h"
#include "lease/ledger.h"
#include "place/job_spec.h"
#include "place/placement.h"
#include "place/visible_devices.h"
#include "record/run_record.h"
#include "run/acquire.h"
#include "run/faults.h"
#include "snapshot/device_kind.h"

namespace berth {

/// Looks at the machine from within the sampler process, once a call. The claims are the run's own
/// (a simulated server needs them to show its use).
using Sight = std::function<Snapshot(const std::vector<Claim>& claims, WallTime now)>;
/// Called once in the sampler process: opens the driver there, never in the launcher or the keeper.
using SightFactory = std::function<Result<Sight>()>;
/// For a run that died for want of its devices' memory: who held how much of it then, in English.
/// Nothing: it did not die so, or nobody can tell.
using MemoryJudge = std::function<std::optional<Sentence>(const RunRecord&)>;

/// A job, and how it is launched here and now.
struct RunOptions {
  JobSpec job;
  PlaceLimits limits;  // the inherited visible-devices list, already read
  VisibleFormat visible_format = VisibleFormat::indices;

  /// The caller's environment, as NAME=value; the job gets it with our variables set.
  std::vector<std::string> environment;
  std::string working_directory;  // where we are, for the record
  std::string state_directory;    // "$XDG_STATE_HOME/berth"; absolute

  bool detach = false;
  /// Where a detached job's output goes (appended); nothing: "output" in the record.
  std::optional<std::string> log;
  std::chrono::milliseconds stop_grace{10'000};  // between TERM and KILL
  /// The run that this one follows; empty: the first.
  std::string retry_of;
  /// How many starts before this one died for want of a device's memory.
  int oom_deaths = 0;

  /// Looked at in tests: where /proc, /sys, /etc are, and which files are devices.
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string etc = "/etc";
  std::vector<std::string> device_files{device_file_beginnings().begin(),
                                        device_file_beginnings().end()};
  std::chrono::milliseconds sample_every{1000};
};

/// The parts of the machine that the run needs. References outlive the call.
struct RunServices {
  Clock& clock;
  /// Null: no ledger can be had; then only RunWhere::cpu works.
  Ledger* ledger = nullptr;
  TakeSnapshot look;
  /// The administrator's rules as they are now. Null: there are none.
  std::function<Result<std::shared_ptr<const Policy>>()> policy = {};
  /// What is wrong with the devices that a run has. Null: nobody judges.
  FaultFinder faults;
  SightFactory sight;
  /// Whether a job that ended badly died for want of a device's memory. Null: nobody judges.
  MemoryJudge memory;
  /// What the kernel keeps this process's control group to on each device, by UUID. Null: nobody
  /// asks.
  std::function<Result<std::map<std::string, Bytes>>()> kernel_limits = {};
  /// Has root's service limit this process, and what it starts from now on, to these amounts. An
  /// empty map takes away the limits of an earlier start. Null: nobody sets any.
  std::function<Result<void>(const std::map<std::string, Bytes>&)> set_kernel_limits = {};
  /// The simulated server that this is; nothing: a real machine.
  std::optional<std::string> simulated;
};

/// What the job starts with.
struct RunStarted {
  std::string id;
  bool cpu_only = false;
  std::vector<Choice> devices;
  Snapshot snapshot;  // the one the choice was made on (empty devices when cpu_only)
  std::chrono::milliseconds waited{0};
  /// The variables set in the job's environment, without berth's own (BERTH_…).
  std::vector<std::pair<std::string, std::string>> variables;
  /// The words put into the command of its container, and that command's engine.
  std::vector<std::string> container_words;
  std::string engine;
  std::optional<RunCap> cap;  // of a share
  Sentence not_gone_along;    // what of the job its cap does not reach; empty: nothing
  /// If the job can open no other card's device files: what that costs it, a sentence each.
  std::vector<Sentence> isolation_costs;
  std::string isolated_by;  // as the record has it
  ProcessId job;            // when it has started
  std::string directory;    // of the record; empty: unrecorded
};

/// The job's end, for the one line on stderr (view/ words it).
struct RunFinished {
  /// With its end. Where it could not be written or read: what is known, without a directory.
  RunRecord record;
  bool end_wanted = false;  // somebody asked for it: Ctrl-C, a signal to the launcher
};

/// A detached job that waits for its device by itself from here on.
struct RunWaits {
  std::string id;
  std::string log;        // where what is said from now on belongs; empty: nowhere
  bool recorded = false;  // `berth wait` and `berth stop` know it
};

/// A line of a script that something is to be said of.
struct ScriptLine {
  int number = 0;  // from 1
  std::string text;
};
/// Something in a command or its script that works against the run.
struct ScriptWarning {
  enum class What {
    script_sets_devices,   // in `line` of `script`
    command_sets_devices,  // `by` one of its words
    container_started,     // `by` a command that chooses the container's GPUs
    container_entered,     // `by` a command; its GPUs were chosen before
    character_refused,     // by Python, in `line` of `script`; its text names the character
  } what;
  std::string script{};  // as the command names it; empty: the command's own words
  ScriptLine line{};
  std::string by{};    // "env", "docker run --gpus all"
  std::string tool{};  // that makes the container: "docker"
};

/// An event as the record has it, or an error that stops nothing.
struct RunRemark {
  Sentence text;
};
/// The job runs, and nothing of it is kept.
struct RunUnrecorded {
  std::string id;
  Sentence why;
  bool detached = false;
  bool is_noted_as_last = true;
};
/// Its heir, too: nobody is left who could close the record.
struct KeeperKilled {};
/// What a job asks of each device once it died for want of memory.
struct NextMemory {
  std::optional<Bytes> share;  // nothing: the whole device
  friend bool operator==(const NextMemory&, const NextMemory&) = default;
};
struct StartingAgain {
  std::string ended;  // the id of the run before
  int starts_left = 0;
  /// It died for want of memory: what it gets now. Nothing: its device went wrong.
  std::optional<NextMemory> memory = {};
  bool is_input_whole = true;  // false: it came through a pipe, and some of it is gone
};
/// The engine's client has ended, and the container it started lives on and keeps the lease.
struct ContainerRunsOn {
  std::string id;  // of the run
  std::string container;
  bool was_killed = false;  // the client; else it was told to leave the container
};
/// What the user should know at once; view/run_text.h has the words.
using RunNews = std::variant<RunRemark, ScriptWarning, RunUnrecorded, KeeperKilled, StartingAgain,
                             ContainerRunsOn>;

/// All of these are called in the launcher. Any may be null.
struct RunCallbacks {
  std::function<void(const WaitingNews&)> on_waiting;
  /// Whether it wants to hear of the time alone, too.
  bool on_waiting_tells_time = false;
  /// The job is detached and has to wait: called once. Its start is not told after that.
  std::function<void(const RunWaits&)> on_waits_alone;
  /// The GPU did not come: the job runs on the CPU.
  std::function<void(const NotAcquired&)> on_cpu_fallback;
  /// All is there but the job, which comes next: what is printed here stands before its output.
  std::function<void(const RunStarted&)> on_starting;
  std::function<void(const RunStarted&)> on_started;
  std::function<void(const RunFinished&)> on_finished;
  std::function<void(const RunNews&)> on_news;
};

struct RunOutcome {
  /// `finished`: the job ran; pass `exit` on (base/process.h end_like). `detached`: it runs on.
  /// `not_started`: `error`, exit by exit_code_of_no_start(). `refused`: `refusal`.
  /// `interrupted`: a signal came while waiting: `exit.signal`.
  enum class How { finished, detached, not_started, refused, interrupted } how = How::finished;
  std::string id;
  Exit exit;
  std::optional<Error> error;
  /// With `finished`: why it was not started again although it should have been.
  std::optional<NotAcquired> refusal;
  /// Devices that went wrong, where the run is to be started again without them.
  std::vector<DeviceId> failed;
  /// It died for want of a device's memory, and is to be started again with this.
  std::optional<NextMemory> next_memory;
};

/// The exit code for a job that did not start, as env(1) has it. All but not_found and
/// no_permission (it is there and cannot be executed) is our own failure.
[[nodiscard]] int exit_code_of_no_start(const Error& error);
/// The other way round, for a code that came through a pipe.
[[nodiscard]] ErrorCode reason_of_no_start(int code);

/// The whole of `berth run`. The outer Result is for what went wrong before a job could start.
[[nodiscard]] Result<RunOutcome> run_job(const RunOptions& options, const RunServices& services,
                                         const RunCallbacks& callbacks);

/// `os.environ["CUDA_VISIBLE_DEVICES"] = …`, `export ROCR_VISIBLE_DEVICES=…`, setdefault left out.
/// What is set to its own value (`…=${CUDA_VISIBLE_DEVICES:-0}`), or another's of these, is not
/// set.
[[nodiscard]] std::optional<ScriptLine> find_visible_devices_assignment(
    std::string_view text, std::span<const std::string_view> variables = choosing_variables());

/// Whether a command chooses its devices itself, by CUDA's variable or for a container. Its words
/// (`env …`, `bash -c …`, `python -c …`) show it, and the texts of its scripts. `executable`: where
/// its first word was found.
[[nodiscard]] std::optional<ScriptWarning> warning_about_devices_set_by(
    const std::vector<std::string>& command, const std::string& executable);
/// Whether it does so by another variable that programs read for these devices.
[[nodiscard]] std::optional<ScriptWarning> warning_about_variables_of(
    const std::vector<DeviceId>& devices, const Snapshot& snapshot,
    const std::vector<std::string>& command, const std::string& search_path);

/// The first character in a Python script's code that ends Python with a SyntaxError; `text` names
/// it. Curly quotes, non-breaking blanks and their like count, but not in strings and comments.
/// Nothing: a small scan cannot tell.
[[nodiscard]] std::optional<ScriptLine> find_character_python_refuses(std::string_view text);
/// The same of the script that this command has Python run.
[[nodiscard]] std::optional<ScriptWarning> warning_about_characters_in(
    const std::vector<std::string>& command, const std::string& executable);

// ---------------------------------------------------------------------------- verbs on other runs

/// not_again: it had ended, after a fault of its device, and will not be started again for it.
enum class StopResult { had_ended, not_again, ended_by_term, ended_by_kill };
/// TERM to the run's whole tree, `grace`, then KILL until nobody is left.
/// no_permission: another user's. timeout: some process cannot be killed; the message names it.
[[nodiscard]] Result<StopResult> stop_run(const RunRecord& run, std::chrono::milliseconds grace,
                                          Clock& clock, const std::string& proc = "/proc");

/// The same, but first ends what `berth exec` has begun in its lease. Else that would go on, on
/// devices that are given to others. What cannot be ended is named, and keeps the run.
/// `state_directory`: where its owner's records are.
[[nodiscard]] Result<StopResult> stop_run_and_begun(const std::string& state_directory,
                                                    const RunRecord& run,
                                                    std::chrono::milliseconds grace, Clock& clock);

/// Waits for the run's main process to end. not_found: how it ended is unknown.
[[nodiscard]] Result<Exit> wait_for_run(const RunRecord& run, Clock& clock,
                                        const std::function<bool()>& interrupted);

enum class Follow { no, yes };
/// The output of a detached run, piece by piece; with Follow::yes until the run has ended.
/// unsupported: the run's output went to its terminal.
[[nodiscard]] Result<void> read_log(const RunRecord& run, Follow follow, Clock& clock,
                                    const std::function<void(std::string_view)>& print,
                                    const std::function<bool()>& interrupted);

}  // namespace berth
