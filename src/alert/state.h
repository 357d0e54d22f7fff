#pragma once
// What the alerts of a daemon leave to the next one (alerts.json): as text and back. The
// file may be anything by the time it is read.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "alert/alert.h"
#include "alert/environment.h"
#include "alert/tracker.h"
#include "base/archive.h"
#include "base/result.h"

namespace berth {

/// A message that had not arrived yet.
struct Undelivered {
  std::string receiver;  // its name
  AlertChange::What what = AlertChange::What::began;
  std::string alert;  // the id of one that is among `active` or `ended`
  friend bool operator==(const Undelivered&, const Undelivered&) = default;
};

struct AlertState {
  static constexpr int format_version = 1;

  std::vector<Alert> active;
  std::vector<Alert> ended;  // the newest first
  std::map<std::string, std::string> facts;
  std::vector<EnvironmentChange> changes;
  std::vector<Undelivered> undelivered;  // the oldest first
  friend bool operator==(const AlertState&, const AlertState&) = default;
};

[[nodiscard]] std::string to_json(const AlertState& state);
/// invalid: not such a file. unsupported: of a newer berth.
[[nodiscard]] Result<AlertState> alert_state_from_json(std::string_view text);

inline constexpr std::size_t longest_alert_state = 4 << 20;

// An alert's members, for all that write one: the file that keeps it, the API, `berth alert`.

/// `kept`: on disk, with its subject and whom it is about. `shown`: without these, never read.
enum class AlertFields { kept, shown };
void walk(Archive& archive, Alert& alert, AlertFields fields);

}  // namespace berth
