#pragma once
// Spans: what lasted: leases, users without one, and the states of devices. SpanTracker finds from
// snapshot to snapshot which began and which ended. Pure.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/ids.h"
#include "snapshot/recorded.h"
#include "snapshot/snapshot_index.h"

namespace berth::history {

/// `user`: processes of a user compute on a device that no lease names. `wait`: somebody stands in
/// the queue; its device is empty.
enum class SpanKind { lease, user, state, wait };
[[nodiscard]] std::string_view name_of(SpanKind kind);
[[nodiscard]] std::optional<SpanKind> span_kind_from_name(std::string_view name);

/// Which of them are asked for.
enum class SpanChoice { all, leases_and_waits, leases_and_users };

struct Span {
  SpanKind kind = SpanKind::state;
  DeviceId device;
  std::string key;   // the lease, the user, the state's name, the ticket
  std::string run;   // of a lease; may be empty
  std::string user;  // of a state: empty
  std::optional<std::int64_t> uid;
  std::string title;  // the command, or what is waited for; masked as in the ledger
  std::int64_t from_ms = 0;
  /// Nothing: it lasts.
  std::optional<std::int64_t> to_ms;
  friend bool operator==(const Span&, const Span&) = default;
};

/// One that began has no end yet; one that ended has both.
class SpanTracker {
 public:
  SpanTracker() = default;
  /// Goes on where another left off: the spans that lasted at the last sample.
  SpanTracker(const std::vector<Span>& open, std::int64_t last_ms);

  /// Somebody looks less often: what lies between two looks so far apart is no gap.
  void look_every(std::int64_t longest_ms) { longest_ms_ = longest_ms; }
  /// What changed, ends before beginnings. After a pause longer than longest_step_ms, or a clock
  /// set back, spans end with the last look. Leases and waits do not end then: they keep their name
  /// for their whole life, a state does not.
  [[nodiscard]] std::vector<Span> changes(const SnapshotIndex& index);

 private:
  using Key = std::tuple<SpanKind, DeviceId, std::string>;
  std::map<Key, Span> open_;
  std::optional<std::int64_t> last_ms_;
  std::int64_t longest_ms_ = longest_step_ms;
};

}  // namespace berth::history
