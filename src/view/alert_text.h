#pragma once
// `berth alert`: the active alerts and the rules that find them. And what receivers are told.

#include <optional>
#include <string>
#include <vector>

#include "alert/alert.h"
#include "alert/rules.h"
#include "view/paint.h"
#include "view/style.h"

namespace berth {

/// Alerts as somebody lists them; without what the server alone knows.
struct AlertList {
  /// True: from a server that watches. False: from one look, which knows nothing of how long.
  bool is_of_server = false;
  WallTime now;
  std::optional<std::string> simulated;
  std::vector<Alert> alerts;  // those that go on, then what was lately resolved
  /// Receivers that are not reached, each with the reason where it may be seen.
  struct Failing {
    std::string receiver;
    std::string trouble;  // may be empty
  };
  std::vector<Failing> failing;
};
[[nodiscard]] std::string render_alerts(const AlertList& list, const Style& style);
[[nodiscard]] std::string alerts_json(const AlertList& list);

[[nodiscard]] std::string render_alert_rules(const AlertSettings& settings, const Style& style);
[[nodiscard]] std::string alert_rules_json(const AlertSettings& settings);

// In English, whatever the server's own language: receivers have theirs.

/// "CRITICAL on gpu1, GPU 3 (gpu_lost): it fell off the bus …". Begins with SIMULATED where it is.
[[nodiscard]] std::string sentence_of(const AlertMessage& message);

/// The summary with the names of affected users: "… nothing is computed: alice, bob".
[[nodiscard]] std::string summary_with(const Sentence& summary,
                                       const std::vector<std::string>& names);
[[nodiscard]] std::vector<std::string> user_names(const Alert& alert);

}  // namespace berth
