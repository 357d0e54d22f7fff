#pragma once
// What the server asks of the store of history. It knows no store: whoever opens one (app/) gives
// this. Called from threads of their own, several at once: a slow disk must not keep others
// waiting.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace berth::serve {

struct TimeSpan {
  WallTime since;
  WallTime until;
};

struct SeriesQuery {
  DeviceId device;
  std::string metric;  // a key of the field table: "utilization_gpu_percent"
  TimeSpan span;
  std::size_t points = 500;  // at most so many
};

/// One step of a series. A step without a reading is no point at all.
struct SeriesPoint {
  WallTime at;  // its begin
  double min = 0;
  double mean = 0;
  double p95 = 0;
  double max = 0;
};

struct Series {
  std::string unit;  // "percent", "bytes"
  std::int64_t step_ms = 0;
  std::optional<WallTime> knows_since;  // nothing: it knows nothing yet
  std::vector<SeriesPoint> points;
};

enum class UsageBy { user, job, gpu, day };

struct UsageRow {
  std::string key;
  /// Whose it is, where it is one user's.
  std::optional<uid_t> uid;
  double gpu_hours = 0;
  double busy_gpu_hours = 0;
  double idle_held_hours = 0;
  std::optional<double> energy_joules;
  std::optional<double> cost;
  // Nothing: not known in this direction (a ticket says no job and no device).
  std::optional<std::uint64_t> waits;
  std::optional<double> waited_hours;
  std::optional<std::uint64_t> runs;
};

struct Usage {
  std::optional<WallTime> knows_since;
  std::optional<double> price_per_kwh;
  std::string currency;  // empty: none is set
  std::vector<UsageRow> rows;
};

struct TimelineDevice {
  DeviceId id;
  std::optional<int> index;
  std::string name;
};
struct TimelineEntry {
  DeviceId device;
  std::string kind;  // "lease", "run", "health"
  std::string id;
  std::optional<uid_t> uid;
  std::string user;
  std::string title;  // a command, or what was found
  WallTime from;
  std::optional<WallTime> to;  // nothing: it goes on
  std::string state;
};
struct Timeline {
  std::vector<TimelineDevice> devices;
  std::vector<TimelineEntry> entries;
};

struct LoggedEvent {
  WallTime at;
  std::string kind;  // "xid", "health"
  DeviceId device;
  std::string code;
  std::string text;
};

class History {
 public:
  virtual ~History() = default;
  /// not_found: no such device or metric was ever seen.
  [[nodiscard]] virtual Result<Series> series(const SeriesQuery& query) const = 0;
  [[nodiscard]] virtual Result<Usage> usage(UsageBy by, TimeSpan span) const = 0;
  [[nodiscard]] virtual Result<Timeline> timeline(TimeSpan span) const = 0;
  [[nodiscard]] virtual Result<std::vector<LoggedEvent>> events(TimeSpan span) const = 0;
};

}  // namespace berth::serve
