#pragma once
// The server's configuration (doc/FORMATS.md, "serve.toml"), from text to values.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/sentence.h"
#include "record/history/options.h"
#include "serve/alert_receiver.h"
#include "serve/fleet_members.h"
#include "serve/history_source.h"
#include "serve/metrics.h"
#include "serve/outgoing.h"
#include "serve/visibility.h"

namespace berth::serve {

/// "127.0.0.1:9700", "[::1]:9700", "0.0.0.0:0": numbers alone, as names could lead elsewhere
/// tomorrow. Port 0: any that is free.
struct Address {
  std::string host;  // without brackets
  std::uint16_t port = 0;
  friend bool operator==(const Address&, const Address&) = default;
};
[[nodiscard]] Result<Address> parse_address(std::string_view text);
[[nodiscard]] std::string as_text(const Address& address);
/// Whether only programs of this machine can come through it.
[[nodiscard]] bool is_loopback(const Address& address);

struct TlsFiles {
  std::string certificate;
  std::string key;
  std::string client_ca;  // empty: clients show no certificates
  friend bool operator==(const TlsFiles&, const TlsFiles&) = default;
};

struct Settings {
  std::vector<Address> listen = {{.host = "127.0.0.1", .port = 9700}};
  std::optional<std::string> socket;  // nothing: the usual place
  std::vector<std::string> hosts;     // names that this server is known by
  OtherSites sites;
  Duration interval = std::chrono::seconds(1);
  Visibility visibility;
  bool require_tokens = false;  // at addresses that others can reach
  std::optional<TlsFiles> tls;
  MetricsOptions metrics;  // of /metrics; the profiles, unless it is asked for others
  bool keeps_history = true;
  HistoryOptions history;
  EnergyPrice price;
  JoinSettings join;
  AlertPlan alerts;
  /// What the file says and berth does not know.
  std::vector<std::string> unknown;
};

/// invalid: says the line.
[[nodiscard]] Result<Settings> parse_settings(std::string_view toml);

/// Between two looks at what changes slowly and costs more: what health judges by, memory errors,
/// limits, disks, the toolkit.
[[nodiscard]] Duration details_interval(Duration interval);

/// "100ms" to "5s" and between; what a look takes has to fit into it.
[[nodiscard]] Result<Duration> parse_interval(std::string_view text);

/// How often other servers are asked: "1s" to "10m".
[[nodiscard]] Result<Duration> parse_join_interval(std::string_view text);

/// Why these listeners must not be opened. Nothing: they may. An address that others can reach
/// wants a proof of who they are.
[[nodiscard]] std::optional<Error> refused_listeners(const Settings& settings);

/// What a running server takes of settings that were read again. What it listens on and what it
/// keeps stay as they are: `waits` says what a restart changes.
struct TakenSettings {
  Settings settings;
  std::vector<Sentence> waits;
};
/// As refused_listeners(): the listeners are open already.
[[nodiscard]] Result<TakenSettings> settings_to_take(const Settings& now, Settings read);

}  // namespace berth::serve
