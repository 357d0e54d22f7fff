#pragma once
// HistoryReader: questions of a history file, while somebody writes it or afterwards. Any number of
// programs may read at the same time. What nobody looked at is missing in the answers, never 0 and
// never idle.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/aggregate.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "record/history/event.h"
#include "record/history/rollup.h"
#include "record/history/span.h"

namespace berth {

namespace history {
class Database;
}

struct HistoryDevice {
  DeviceId id;
  std::optional<std::int64_t> index;  // the last it was shown under
  std::string name;                   // empty: not known
  std::optional<DeviceId> parent;
  std::optional<Bytes> memory_total;
  bool used_is_bound = false;  // memory_used_bytes: at least so much was used
  WallTime first;
  WallTime last;
};

struct HistoryFacts {
  /// The simulated server that all of it is of; nothing: a real machine.
  std::optional<std::string> simulated;
  std::optional<WallTime> knows_since;  // nothing: no sample yet
  std::optional<WallTime> last_sample;
  std::vector<HistoryDevice> devices;  // by index
};

struct SeriesQuery {
  std::vector<DeviceId> devices;
  std::string_view metric;  // a key of history::metrics() that is a device's
  WallTime since;
  WallTime until;
  std::size_t points = 500;  // at most so many
};

/// What a series did in one step of a chart, in the series' unit.
struct SeriesPoint {
  WallTime at;  // where the step begins
  double least = 0;
  double mean = 0;
  /// Exact where the step is drawn from samples, or is one minute or hour. Of several put together
  /// it is their highest: never too low.
  double p95 = 0;
  double most = 0;
  std::uint64_t samples = 0;
};

struct HistorySeries {
  DeviceId device;
  std::string metric;
  std::string unit;  // of a counter: of its growth per second
  std::int64_t step_ms = 0;
  /// Nothing: this series has never been recorded.
  std::optional<WallTime> knows_since;
  std::vector<SeriesPoint> points;  // a step without samples has none
  std::uint64_t damaged_blocks = 0;
};
/// So many columns of equal time from `since` to `until`: what its samples in each were, and
/// nothing where nobody looked. A step that is longer than a column fills all that it stands for.
[[nodiscard]] std::vector<Aggregate<>> in_columns(const HistorySeries& series, WallTime since,
                                                  WallTime until, std::size_t count);

enum class UsageBy { user, job, gpu, day };
[[nodiscard]] std::string_view name_of(UsageBy by);
[[nodiscard]] std::optional<UsageBy> usage_by_from_name(std::string_view name);

struct UsageQuery {
  UsageBy by = UsageBy::user;
  WallTime since;  // both are moved out to quarters of an hour
  WallTime until;
  std::optional<double> price_per_kwh;
  /// What local time is ahead of UTC at a moment: where days begin.
  std::function<std::chrono::seconds(WallTime)> offset_at = [](WallTime) {
    return std::chrono::seconds(0);
  };
};

/// Hours are of one device each: two devices for one hour are two.
struct UsageRow {
  std::string key;   // user, run or lease (empty: without one), device id, "2026-11-21"
  std::string user;  // of a job
  std::optional<std::int64_t> uid;  // whose it is: by user and by job, where it was known
  double gpu_hours = 0;
  double busy_hours = 0;
  double idle_held_hours = 0;
  double unknown_load_hours = 0;  // held, and its load could not be read
  /// Hours of the window in which nobody looked. By gpu and by day.
  std::optional<double> unwatched_hours;
  std::optional<double> energy_joules;  // nothing: not known for any of it
  bool energy_at_least = false;         // it is not known for all of it
  bool energy_integrated = false;       // some of it from power, where no counter is
  std::optional<double> cost;
  std::optional<std::uint64_t> waits;  // by user and by day; a ticket says no job and no device
  std::optional<double> waited_hours;
  std::optional<std::uint64_t> runs;  // under a lease; not by job
};

struct UsageReport {
  UsageBy by = UsageBy::user;
  WallTime since;
  WallTime until;
  std::optional<WallTime> knows_since;
  std::optional<double> price_per_kwh;
  double unwatched_hours = 0;  // of all devices together, since it knows
  std::vector<UsageRow> rows;  // most hours first; devices by index, days by date
};

class HistoryReader {
 public:
  /// not_found: no file, or nothing in it yet. no_permission, invalid, unsupported: as they say.
  [[nodiscard]] static Result<HistoryReader> open(const std::string& path);
  HistoryReader(HistoryReader&&) noexcept;
  HistoryReader& operator=(HistoryReader&&) noexcept;
  ~HistoryReader();

  [[nodiscard]] Result<HistoryFacts> facts();
  /// One for each of the query's devices, in their order. invalid: no such metric of a device. A
  /// device it does not know has no points.
  [[nodiscard]] Result<std::vector<HistorySeries>> series(const SeriesQuery& query);
  /// Leases, users without one, states and waits that lasted at any time between, by their
  /// beginning. An open one lasts, as far as the last sample says.
  [[nodiscard]] Result<std::vector<history::Span>> spans(
      WallTime since, WallTime until, history::SpanChoice choice = history::SpanChoice::all);
  [[nodiscard]] Result<std::vector<HistoryEvent>> events(WallTime since, WallTime until);
  [[nodiscard]] Result<UsageReport> usage(const UsageQuery& query);

 private:
  explicit HistoryReader(std::unique_ptr<history::Database> database);
  Result<std::optional<WallTime>> knows_since();
  std::unique_ptr<history::Database> database_;
};

}  // namespace berth
