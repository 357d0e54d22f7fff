#pragma once
// A sweep while it goes on, and its table at the end.

#include <optional>
#include <string>
#include <vector>

#include "record/run_record.h"
#include "run/sweep.h"
#include "view/style.h"

namespace berth {

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
[[nodiscard]] bool has_ended_well(const RunRecord& run);

/// "[#####.....] 5 of 10 ended (1 badly), 2 run, 1 waits"
[[nodiscard]] std::string progress_line(const SweepCount& count, const Style& style);
[[nodiscard]] std::string render_sweep(const std::vector<SweepParameter>& parameters,
                                       const std::vector<SweepRow>& rows, const Moment& now,
                                       const Style& style);
[[nodiscard]] std::string sweep_csv(const std::vector<SweepParameter>& parameters,
                                    const std::vector<SweepRow>& rows, const Moment& now);

}  // namespace berth
