#pragma once
// What the server asks of the store of history, as record/history/reader.h answers it. Made by
// app/, which knows where the store is. Called from threads of their own, several at once: a
// slow disk must not keep others waiting.

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "record/history/reader.h"

namespace berth::serve {

/// The price of energy where the server stands.
struct EnergyPrice {
  std::optional<double> per_kwh;
  std::string currency;  // empty: none is set
};

/// Takes the oldest away, which stand first; how many.
template <class T>
std::size_t keep_newest(std::vector<T>& list, std::size_t most) {
  const std::size_t too_many = list.size() > most ? list.size() - most : 0;
  list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(too_many));
  return too_many;
}

/// Users of devices and events, each with its devices.
struct Timeline {
  std::vector<HistoryDevice> devices;
  std::vector<history::Span> spans;
  std::vector<HistoryEvent> events;
  std::size_t left_out = 0;  // older ones of both, beyond the limit
};

class History {
 public:
  virtual ~History() = default;
  /// invalid: no such metric. Any other error, here and below: why the store has no answer now, as
  /// anybody may hear it. A device that was never seen has no points.
  [[nodiscard]] virtual Result<std::vector<HistorySeries>> series(
      const SeriesQuery& query) const = 0;
  /// Days begin as local time has them.
  [[nodiscard]] virtual Result<UsageReport> usage(UsageQuery query) const = 0;
  /// Leases and users, by their beginning: the newest `most` of them, and as many events.
  [[nodiscard]] virtual Result<Timeline> timeline(WallTime since, WallTime until,
                                                  std::size_t most) const = 0;
  [[nodiscard]] virtual Result<std::vector<HistoryEvent>> events(WallTime since,
                                                                 WallTime until) const = 0;
};

}  // namespace berth::serve
