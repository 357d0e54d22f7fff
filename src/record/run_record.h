#pragma once
// RunRecord: what one run was given, did and used. On disk it is a directory per run under the
// user's state directory (doc/FORMATS.md, "Run record"). The run's keeper and sampler write it,
// everybody else only reads. A record is never needed for a job to go on.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/ids.h"
#include "base/owned_file.h"
#include "base/process.h"
#include "base/result.h"
#include "record/run_cap.h"
#include "record/sample.h"
#include "record/summary.h"
#include "snapshot/snapshot.h"

namespace berth {

/// What the machine is, beyond its devices.
struct MachineFacts {
  Reading<std::string> instance_type;  // cloud vendor and type from DMI: "Amazon EC2 p4d.24xlarge"
  Reading<std::string> operating_system;
  Reading<std::string> cpu_model;
  Reading<std::uint64_t> cpu_count;  // logical, online
  Reading<Bytes> memory_total;
  Reading<std::string> container;  // "docker 1a2b3c4d5e6f"; empty text: none
};

/// The git work tree that the command was started in.
struct GitFacts {
  std::string root;
  Reading<std::string> commit;
  Reading<std::string> branch;  // empty text: detached head
  Reading<bool> dirty;          // tracked files differ from the commit
};

/// What a framework was built for, as its own files say.
struct FrameworkFacts {
  std::string name;     // "torch", "tensorflow", "jax"
  std::string version;  // "2.3.1+cu121"
  /// "12.1"; empty text: built without CUDA. unsupported: its files do not say.
  Reading<std::string> cuda;
};

/// The interpreter and the frameworks, read from their files without importing anything.
struct PythonFacts {
  std::string interpreter;
  Reading<std::string> version;
  std::string environment;  // the virtual or conda environment's directory; empty: none
  std::vector<std::pair<std::string, std::string>> packages;  // name, version; those that matter
  std::vector<FrameworkFacts> frameworks;
};

/// CUDA as it is installed beside what Python's packages bring along.
struct ToolkitFacts {
  Reading<std::string> nvcc_version;                           // unsupported: there is no toolkit
  std::vector<std::pair<std::string, std::string>> libraries;  // "libcudnn", the file's version
};

struct Manifest {
  static constexpr int format_version = 1;

  std::string id;
  std::vector<std::string> command;  // masked
  std::string working_directory;
  WallTime started;
  /// The machine's steady clock (base/clock.h steady_ms) at `started`; nothing: an older record.
  std::optional<std::int64_t> started_steady_ms;
  std::string machine_id;
  std::string boot_id;
  uid_t uid = 0;
  std::string user;
  ProcessId keeper;
  std::optional<ProcessId> job;
  std::string lease;   // empty: a run without devices, or inside another's lease
  std::string inside;  // the lease that it was started in; empty: none
  /// The run that it was started again for, whose device went wrong; empty: none.
  std::string retry_of;
  std::string wanted;  // the request as typed
  /// The whole job as asked for: keys of berth.toml (place/job_spec.h) and their texts. Empty: an
  /// older record.
  std::vector<std::pair<std::string, std::string>> spec;
  /// One of them, by its key ("name"); empty: nothing was said.
  [[nodiscard]] std::string_view spec_of(std::string_view key) const;
  /// How many devices that is; nothing: none (--cpu), or an older record.
  std::optional<int> devices_wanted;
  bool cpu_only = false;
  /// What keeps it from other cards' device files: "landlock"; empty: nothing does.
  std::string isolated_by;
  /// Detached, it waits for its device: `started` is when it began to, `keeper` who waits.
  bool waiting = false;
  std::int64_t waited_ms = 0;
  std::optional<std::int64_t> time_limit_ms;
  std::optional<std::string> log;  // where a detached run's output goes
  /// Bytes that the log had before: another run's, or the user's own. Nothing: none.
  std::optional<std::uint64_t> log_from;
  /// The host and the devices given, with all their facts, as of the choice.
  Snapshot given;
  /// Bytes promised per device of `given.devices`; nothing: the whole device.
  std::vector<std::optional<Bytes>> promised;
  /// Nothing: its devices are its own, or an older record.
  std::optional<RunCap> cap;

  // Gathered once the job runs; `complete` is true when all of it is in.
  bool complete = false;
  MachineFacts machine;
  std::optional<GitFacts> git;
  std::optional<PythonFacts> python;
  /// Variables that matter for GPU work, secrets masked.
  std::vector<std::pair<std::string, std::string>> variables;
  /// What was set in the job's environment beside berth's own (BERTH_…); the other list has what
  /// the caller's had.
  std::vector<std::pair<std::string, std::string>> variables_set;
  std::optional<ToolkitFacts> toolkit;  // looked for only where no run is
};

/// The job's own progress: "epoch=3 loss=0.12".
struct Mark {
  WallTime at;
  bool exact = true;  // false: stamped by the next sample, up to a second late
  std::string text;
};

/// Something that berth noticed during the run.
struct RunEvent {
  WallTime at;
  std::string kind;  // "outside_lease", "time_limit", "sampler_restarted", "gpu_lost", …
  Sentence text;
};

enum class RunState {
  waiting,      // detached, and its device has not come yet
  running,      // the keeper lives, or where it has gone the main process does
  ended,        // the main process has ended and the record says how
  end_unknown,  // the keeper has gone without saying how it ended
  elsewhere,    // of another machine (shared home) and not ended: cannot be known here
};
[[nodiscard]] std::string_view name_of(RunState state);

/// What RunEnd::because says where berth had a part in the end.
namespace end_cause {
inline constexpr std::string_view time_limit = "time limit";
/// It ended by itself, after the warning that its time was nearly over.
inline constexpr std::string_view warned = "warned of the time limit";
inline constexpr std::string_view stopped = "stopped";
inline constexpr std::string_view gpu_fault = "GPU fault";
/// Above its share of memory, as --cap-action stop wants it.
inline constexpr std::string_view memory_cap = "memory cap";
/// There never was a job, whatever it was that went wrong.
inline constexpr std::string_view not_started = "not started";
/// It waited, detached, and was never started: nothing came within its time, or it was taken out.
inline constexpr std::string_view no_device = "no device came";
inline constexpr std::string_view left_queue = "left the queue";
}  // namespace end_cause

/// What RunEnd::died_of says.
inline constexpr std::string_view out_of_gpu_memory = "out of GPU memory";
/// The event that says who held how much of the devices then.
inline constexpr std::string_view out_of_gpu_memory_event = "out_of_gpu_memory";

/// The events of one that waits and has no place in the queue, and that has it after all.
inline constexpr std::string_view not_queued_event = "not_queued";
inline constexpr std::string_view queued_event = "queued";

/// The end of the main process.
struct RunEnd {
  WallTime at;  // not known: the last sign of life
  /// False: the keeper has gone without saying how the job ended; `exit` then says nothing.
  bool known = true;
  /// A program that leased its devices itself gave them back and may go on: `exit` says nothing.
  bool gave_back = false;
  Exit exit;
  /// By the steady clock; nothing: not known, or an older record.
  std::optional<std::int64_t> lasted_ms;
  /// Why berth ended it: one of end_cause; empty: it ended by itself.
  std::string because;
  /// Who asked for it with `berth stop`; empty: nobody, or an older record.
  std::string stopped_by;
  /// The time limit that it ended under, where `berth extend` had moved it; nothing: it had not.
  /// A reader of the record has it in the manifest.
  std::optional<std::int64_t> time_limit_ms;
  /// What it ended badly of, where berth knows it: out_of_gpu_memory; empty: not known.
  std::string died_of;
  /// When the lease was given back; nothing: survivors still held it when this was written.
  std::optional<WallTime> released;
  std::optional<std::int64_t> cpu_ms;  // user and system, of all processes that were waited for
  Summary summary;
};

struct RunRecord {
  std::string directory;
  /// Whose folder it is, and whose rights open what it holds and names.
  FileOwner owner = FileOwner::ourselves();
  Manifest manifest;
  RunState state = RunState::end_unknown;
  std::optional<RunEnd> end;
  /// What could not be read, for people.
  std::vector<Sentence> problems;
};

/// How the job itself ended. `unknown`: it has not, or nobody can say. `gave_back`: a program gave
/// back devices that it had leased itself, and may go on.
enum class JobEnding { unknown, gave_back, with_0, badly };
[[nodiscard]] JobEnding ending_of(const RunRecord& run);
[[nodiscard]] inline bool has_failed(const RunRecord& run) {
  return ending_of(run) == JobEnding::badly;
}
/// Nothing went wrong with the job itself, also where berth ended it.
[[nodiscard]] inline bool ended_in_order(const RunRecord& run) {
  return ending_of(run) == JobEnding::with_0 || ending_of(run) == JobEnding::gave_back;
}
/// It has exited with 0, and berth ended nothing of it.
[[nodiscard]] bool ended_well(const RunRecord& run);
/// It waited for a device and ended without one: there never was a job.
[[nodiscard]] bool was_never_started(const RunRecord& run);
/// That, or it waits still: what a job does and uses nobody can ask of it.
[[nodiscard]] bool has_no_job(const RunRecord& run);

/// How long it waited for its devices, or has waited by now.
[[nodiscard]] std::chrono::milliseconds waited(const RunRecord& run, const Moment& now);

/// The warning of its time limit ended it, before the time was over; false also where that is not
/// known.
[[nodiscard]] bool is_ended_by_warning(const RunRecord& run);

/// Whether a keeper or its heir holds the record; also after the job's end, as long as it does.
[[nodiscard]] bool is_kept(const RunRecord& run);

/// The directory that holds the runs: STATE/runs.
[[nodiscard]] std::string runs_directory(const std::string& state_directory);
/// The other way: of STATE/runs/ID; empty: that is no run's.
[[nodiscard]] std::string state_directory_of(const std::string& run_directory);

/// The ids of this machine and of its boot. Empty: not told.
[[nodiscard]] inline std::string own_machine_id() { return first_line_of("/etc/machine-id"); }
[[nodiscard]] inline std::string own_boot_id() {
  return first_line_of("/proc/sys/kernel/random/boot_id");
}

/// A new id: "20251121-014946-k3f9q2", unique over machines and reboots.
[[nodiscard]] std::string make_run_id(std::string_view machine_id, std::string_view boot_id,
                                      WallTime now, pid_t pid);

/// The time in a record of something that happens now: its start and what the steady clock has
/// counted since. So a record's times follow each other also where the date is set meanwhile.
[[nodiscard]] WallTime time_in(const Manifest& manifest, const Moment& now);

/// How long the main process ran, or has run by now; nothing: not known, or there was none. Never
/// negative.
[[nodiscard]] std::optional<std::chrono::milliseconds> lasted(const RunRecord& run,
                                                              const Moment& now);

/// All records, newest first. One that cannot be read is left out and named in `problems`.
struct RunList {
  std::vector<RunRecord> runs;
  std::vector<Sentence> problems;
};
[[nodiscard]] Result<RunList> list_runs(const std::string& state_directory);

/// The run named by its id, the unique beginning or end of one, or "last". not_found, invalid
/// (several match: they are named).
[[nodiscard]] Result<RunRecord> load_run(const std::string& state_directory, std::string_view name);

/// The id of the run that started last, where it has no record.
[[nodiscard]] std::optional<std::string> unrecorded_last_run(const std::string& state_directory);

/// Reads a record's directory. A run whose keeper has gone without an end is closed as "end
/// unknown" where the directory can be written.
[[nodiscard]] Result<RunRecord> read_run(const std::string& directory);
/// The same where it has to be that owner's.
[[nodiscard]] Result<RunRecord> read_run(const std::string& directory, const FileOwner& owner);

/// Opens a detached run's output for reading. unsupported: the run has none.
/// Stands where the run's own output begins.
[[nodiscard]] Result<Fd> open_log(const RunRecord& run);

/// Everything else of a record, read when asked for. A torn last line is left out. So are marks
/// beyond the first 4 MiB, and the record's problems say it.
[[nodiscard]] std::vector<Mark> marks_of(const RunRecord& run);
[[nodiscard]] std::vector<RunEvent> events_of(const RunRecord& run);
struct SamplesRead {
  std::uint64_t torn_lines = 0;  // left out; the last one of a run that goes on is being written
};
/// Calls `each` for every sample, oldest first, without holding them all.
[[nodiscard]] Result<SamplesRead> for_each_sample(const RunRecord& run,
                                                  const std::function<void(const Sample&)>& each);
/// The summary so far (running) or at the end, from the samples.
[[nodiscard]] Summary summary_of(const RunRecord& run);
/// Of a run that goes on: its last minutes, however long it has run. Of another: the whole.
[[nodiscard]] Summary summary_lately(const RunRecord& run);
/// From the samples of a run that ended then.
[[nodiscard]] Summary summary_until(const RunRecord& run, WallTime ended);

/// What a record's files tell beside it, read where they may be read.
struct RunStory {
  Summary summary;
  std::vector<Mark> marks;
  std::vector<RunEvent> events;
};
[[nodiscard]] RunStory story_of(const RunRecord& run);
/// For a run that has a cap.
[[nodiscard]] CapOutcome cap_outcome_of(const RunRecord& run, const Summary& summary);

/// Its owner reads all of a run. Others have no keys for what is its owner's alone; the values they
/// may not see have gone before (serve/visibility.h).
enum class RunReader { owner, other };
/// The members of the whole record, samples left out.
void write_run(Archive& archive, const RunRecord& run, const RunStory& story,
               RunReader reader = RunReader::owner);
/// `berth show --json`.
[[nodiscard]] std::string to_json(const RunRecord& run);

/// Appends the job's progress with the time to a marks file ($BERTH_MARKS), secrets masked.
[[nodiscard]] Result<void> append_mark(const std::string& marks_path, WallTime now,
                                       std::string_view text);

/// Whether it is of a run; else of a place and a time, with every device that is there.
[[nodiscard]] inline bool is_of_run(const Manifest& manifest) { return !manifest.id.empty(); }

/// Format "berth-manifest", version 1; `manifest.started` is when it was gathered.
[[nodiscard]] std::string here_to_json(const Manifest& manifest);

/// Reads that, and a run's manifest.json as well. invalid, unsupported: as manifest_from_json.
[[nodiscard]] Result<Manifest> any_manifest_from_json(std::string_view text);

}  // namespace berth
