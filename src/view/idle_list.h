#pragma once
// `berth idle`: what is held and not used, who holds it, since when, and how that is known. The
// beginning comes from the history alone: what nobody looked at is never idle.

#include <optional>
#include <string>
#include <vector>

#include "base/archive.h"
#include "place/policy.h"
#include "record/history/reader.h"
#include "snapshot/snapshot.h"
#include "view/style.h"

namespace berth {

/// What the history tells of the devices' loads: their series utilization_gpu_percent, a minute a
/// point.
struct IdleEvidence {
  std::vector<HistorySeries> loads;
  Sentence why_none;  // empty: there is a history
};

/// `lease` devices under a lease compute nothing. `memory` so without one. `low_load` a lease whose
/// device was busy for less than 30 % of the last hour. `ended` a process that has ended still
/// holds memory. `nobody` memory that no process explains. `orphan` a process without a lease whose
/// parent is gone, and whose terminal, as far as that is known.
enum class IdleKind { lease, memory, low_load, ended, nobody, orphan };
[[nodiscard]] std::string_view name_of(IdleKind kind);

/// `measured` by the history, without a gap. `seen` by this look alone. `perhaps` it may be meant
/// so.
enum class IdleSure { measured, seen, perhaps };
[[nodiscard]] std::string_view name_of(IdleSure sure);

struct IdleRow {
  IdleKind kind = IdleKind::lease;
  IdleSure sure = IdleSure::seen;
  const Device* device = nullptr;
  std::vector<std::string> users;  // empty: cannot be told
  std::string lease;               // empty: none
  std::string run;
  std::optional<pid_t> pid;
  bool has_no_terminal = false;  // of an orphan; false: it is not known
  std::optional<Bytes> held;
  std::optional<WallTime> since;
  std::optional<Percent> mean_load;  // of low_load
};

/// Since when every step of the series, up to now, stayed at 5 % or below. Nothing: it did not, or
/// the last steps are not in it.
[[nodiscard]] std::optional<WallTime> calm_since(const HistorySeries& load, WallTime now);

/// Devices in their order. `policy`: null where there is none. A holder who has not been idle for
/// as long as the policy says is no row.
[[nodiscard]] std::vector<IdleRow> idle_rows(const Snapshot& snapshot, const IdleEvidence& evidence,
                                             const Policy* policy);

/// "GPU 3 is held by anna, and nothing was computed on it for 40m", for those who wait. Only
/// measured ones are listed.
[[nodiscard]] std::string idle_lease_lines(const std::vector<IdleRow>& rows,
                                           const Snapshot& snapshot, const Style& style);
[[nodiscard]] std::string render_idle(const std::vector<IdleRow>& rows,
                                      const IdleEvidence& evidence, const Snapshot& snapshot,
                                      const Style& style);
/// Its members as JSON.
void write_idle_row(Archive& archive, const IdleRow& row);
[[nodiscard]] std::string idle_json(const std::vector<IdleRow>& rows, const IdleEvidence& evidence,
                                    const Snapshot& snapshot);

}  // namespace berth
