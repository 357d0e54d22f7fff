#pragma once
// The receivers of alerts, as the configuration has them.

#include <chrono>
#include <string>
#include <vector>

#include "alert/rules.h"
#include "base/result.h"

namespace berth::serve {

struct AlertReceiver {
  enum class Kind { webhook, command };
  Kind kind = Kind::webhook;
  std::string name;  // what it is called wherever it is spoken of
  /// A webhook's. May hold a secret: never printed, logged or served.
  std::string url;
  std::string url_file;   // holds the URL, read with the configuration; empty: none
  std::string authority;  // a file of PEM: whose certificates are trusted; empty: the system's
  /// A command's program and its words. No shell is between.
  std::vector<std::string> command;
  AlertSeverity least = AlertSeverity::notice;  // told of what is at least so bad
  bool is_told_of_ends = true;
  std::chrono::milliseconds patience{10'000};
  friend bool operator==(const AlertReceiver&, const AlertReceiver&) = default;
};
[[nodiscard]] std::string_view name_of(AlertReceiver::Kind kind);

struct AlertPlan {
  AlertSettings rules;
  std::vector<AlertReceiver> receivers;
  friend bool operator==(const AlertPlan&, const AlertPlan&) = default;
};

/// A URL that can be posted to, without the white space around it. The error does not repeat it.
[[nodiscard]] Result<std::string> webhook_url(std::string_view text);

}  // namespace berth::serve
