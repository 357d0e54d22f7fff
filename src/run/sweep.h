#pragma once
// A sweep: one command for each point of a grid of parameters, and what becomes of each. Pure, but
// for its locks and read_again(). app/verb_sweep.cc starts the points.

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "place/job_spec.h"
#include "record/run_record.h"
#include "snapshot/snapshot.h"

namespace berth {

/// So many points at most: each is a run with a record of its own.
constexpr std::size_t most_points = 10'000;

struct SweepParameter {
  std::string name;
  std::vector<std::string> values;
  friend bool operator==(const SweepParameter&, const SweepParameter&) = default;
};
/// "lr=0.1,0.01", "seed=1..3". invalid: says what is wrong.
[[nodiscard]] Result<SweepParameter> parse_parameter(std::string_view text);

/// One point: a value for each parameter, in their order, and the command with them put in.
struct SweepPoint {
  std::vector<std::string> values;
  std::vector<std::string> command;
  friend bool operator==(const SweepPoint&, const SweepPoint&) = default;
};

/// All points, the last parameter changing fastest. "{name}" in the command is replaced; "{{"
/// stands for a brace. invalid: too many points (says how many), or a name twice. Also a name that
/// the command does not use, or a "{name}" that nobody sets.
[[nodiscard]] Result<std::vector<SweepPoint>> points_of(
    const std::vector<SweepParameter>& parameters, const std::vector<std::string>& command);

/// Tells one sweep from another: the same words in the same folder go on with it. It finds its runs
/// again by their names, whatever was killed.
[[nodiscard]] std::string sweep_id(const std::vector<SweepParameter>& parameters,
                                   const std::vector<std::string>& words, std::string_view folder);

/// "sweep-ID.2-17": the run of point 17 in the second time through.
struct SweepName {
  std::string sweep;
  std::size_t time = 1;
  std::size_t point = 0;
  friend bool operator==(const SweepName&, const SweepName&) = default;
};
[[nodiscard]] std::string typed(const SweepName& name);
/// Nothing: some other run's name.
[[nodiscard]] std::optional<SweepName> sweep_name_in(std::string_view text);

/// What keeps a sweep from being under way twice: two would each start the points that the other
/// has not started yet. It is one byte of one file, as long as this process lives. So nothing is
/// left behind that could hold up the next. Where locks cannot be had it goes on without.
class SweepLocks {
 public:
  SweepLocks() = default;  // of no sweep
  /// busy: the same sweep runs. `records`: where the file stands.
  [[nodiscard]] static Result<SweepLocks> take(const std::string& records, const SweepName& name);
  /// For a start of a point, to be held until the point has a record. Not open: it cannot be had.
  [[nodiscard]] Fd hold_start() const;
  /// Whether somebody holds that.
  [[nodiscard]] bool is_being_started() const;

 private:
  SweepLocks(std::string records, off_t byte);

  std::string records_;
  off_t byte_ = 0;  // the sweep's
  Fd file_;
};

/// A point and what became of it.
struct SweepRow {
  const SweepPoint* point = nullptr;
  std::optional<RunRecord> run;  // nothing: not started
  bool starts_again = false;     // it has ended, and goes on as another run
  /// So often no end of it was known, which may be a moment of its beginning or end.
  int unknown_looks = 0;
};

struct SweepCount {
  std::size_t all = 0;
  std::size_t ended = 0;
  std::size_t badly = 0;  // of those that ended
  std::size_t running = 0;
  std::size_t waiting = 0;
  friend bool operator==(const SweepCount&, const SweepCount&) = default;
};
[[nodiscard]] SweepCount count_of(const std::vector<SweepRow>& rows);
/// Whether nothing more will come of it.
[[nodiscard]] bool is_over(const RunRecord& run);
/// It died for want of memory, and is about to be started again with more.
[[nodiscard]] bool is_started_again(const RunRecord& run, WallTime now);
/// Goes on to the runs as which rows that died so were started again; the last may have died, too.
void follow_starts(std::vector<SweepRow>& rows, const std::vector<RunRecord>& runs, WallTime now);
/// Notes what has been read of the row's run just now.
void note_state(SweepRow& row, WallTime now);
/// Whether its run may still change.
[[nodiscard]] bool is_open(const SweepRow& row);
/// Reads the runs that may have changed since the last look from their records.
void read_again(std::vector<SweepRow>& rows, const std::string& records, WallTime now);
/// A run of that name that goes on: its start was ended, and had come as far as its record.
/// `runs`: the newest first.
[[nodiscard]] std::optional<RunRecord> started_all_the_same(const SweepName& name,
                                                            const std::vector<RunRecord>& runs);

/// What of earlier times through is started again: what was cut short and so has no result; with it
/// what ended badly; all of it.
enum class StartAgain { cut_short, what_failed, all };
/// Gives each row its run of the last time through, and `name` that time. A row that is to be
/// started (again) gets none. `runs`: the newest first; rows are in the order of the points.
void take_earlier_runs(std::vector<SweepRow>& rows, SweepName& name,
                       const std::vector<RunRecord>& runs, StartAgain again);

/// How many points keep the machine busy, and no more in its queue: at least one.
[[nodiscard]] std::size_t points_at_a_time(const Snapshot& snapshot, const JobSpec& job);

}  // namespace berth
