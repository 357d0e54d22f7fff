#pragma once
// Alert: a condition of this machine that needs attention. It begins, lasts and ends; two looks
// that see the same condition make one alert. Plain data. alert/rule_matches.h makes it of one
// look, alert/tracker.h follows it from look to look.

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/sentence.h"

namespace berth {

/// `notice` worth knowing. `warning` somebody should look today. `critical` a device is out of use.
enum class AlertSeverity { notice, warning, critical };
[[nodiscard]] std::string_view name_of(AlertSeverity severity);
[[nodiscard]] std::optional<AlertSeverity> severity_from_name(std::string_view name);

enum class AlertRule {
  gpu_lost,
  gpu_failed,
  xid,
  ecc_pending,
  throttled_long,
  ghost_memory,
  idle_holder,
  disk_nearly_full,
  probe_failing,
  environment_changed,
  count  // no rule: how many there are
};
inline constexpr auto alert_rule_count = static_cast<std::size_t>(AlertRule::count);
[[nodiscard]] std::string_view name_of(AlertRule rule);
[[nodiscard]] std::optional<AlertRule> alert_rule_from_name(std::string_view name);

/// How an alert came to its end. `resolved`: looked at, and nothing of it was seen any more.
/// `unknown`: nothing of it could be read for so long that nobody can say. `unwatched`: its rule
/// was switched off.
enum class Ending { resolved, unknown, unwatched };
[[nodiscard]] std::string_view name_of(Ending ending);
[[nodiscard]] std::optional<Ending> ending_from_name(std::string_view name);

/// A user that an alert is about. The name is shown only to those who may see it.
struct AlertUser {
  std::optional<uid_t> uid;  // nothing: not known
  std::string name;
  friend bool operator==(const AlertUser&, const AlertUser&) = default;
};

struct Alert {
  std::string id;  // unique for all time on this machine; empty: it has not begun
  AlertRule rule = AlertRule::gpu_lost;
  /// What of, for programs: a device's id, with a code behind it where one has several. An alert
  /// is the same as another if rule and subject are.
  std::string subject;
  AlertSeverity severity = AlertSeverity::notice;
  std::optional<DeviceId> device;  // nothing: the whole machine
  std::optional<int> index;
  WallTime since;      // when it was first seen, which may be before it began to be an alert
  WallTime last_seen;  // of an event: when it happened last
  std::optional<WallTime> resolved;  // when it was over; `ending` says whether it is mended
  Ending ending = Ending::resolved;  // once it is over
  Sentence summary;                  // names nobody
  Sentence advice;                   // what to do next; may be empty
  std::vector<AlertUser> users;
  /// The simulated server it is of. Shown on every surface.
  std::optional<std::string> simulated;
  friend bool operator==(const Alert&, const Alert&) = default;
};

/// What a receiver is told.
struct AlertMessage {
  /// `unknown`: it is over in that nobody can say any more whether it goes on.
  enum class Event { began, resolved, unknown, test } event = Event::began;
  Alert alert;
  std::string host;
  friend bool operator==(const AlertMessage&, const AlertMessage&) = default;
};
[[nodiscard]] constexpr std::string_view name_of(AlertMessage::Event event) {
  constexpr std::string_view names[] = {"began", "resolved", "unknown", "test"};
  return names[static_cast<int>(event)];
}

}  // namespace berth
