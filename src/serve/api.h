#pragma once
// The API: a question goes in, an answer comes out. `answer` holds no state and opens no socket. It
// is given what it needs beyond the newest snapshot: records, history, acting on processes.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "alert/alert.h"
#include "base/clock.h"
#include "lease/planned.h"
#include "place/policy.h"
#include "serve/delivery_queue.h"
#include "serve/history_source.h"
#include "serve/message.h"
#include "serve/principal.h"
#include "serve/run_source.h"
#include "serve/visibility.h"
#include "snapshot/host_report.h"
#include "snapshot/snapshot.h"

namespace berth::serve {

struct FleetView;
class SignIn;

/// What the daemon does to others' processes in somebody's name.
class Acts {
 public:
  virtual ~Acts() = default;
  /// Ends the run that holds the lease, as `berth stop` does; in a word, how it went.
  /// no_permission: the daemon itself may not. `uid`: in whose name; nothing: an administrator's.
  [[nodiscard]] virtual Result<std::string> release(const Claim& claim,
                                                    std::optional<uid_t> uid) const = 0;
  [[nodiscard]] virtual Result<void> signal(ProcessId process, int number,
                                            std::optional<uid_t> uid) const = 0;
};

/// What a record tells when all of it is looked at, in the language of the thread that asks.
class RunJudge {
 public:
  virtual ~RunJudge() = default;
  /// {"berth_explain": 1, …}: of a run that failed why, of any other what kept its GPUs waiting.
  [[nodiscard]] virtual std::string explanation(const RunRecord& run) const = 0;
  /// One file of HTML, without script.
  [[nodiscard]] virtual std::string report(const RunRecord& run) const = 0;
};

/// What is shown of alerts: as of one moment, never changed afterwards.
struct AlertBoard {
  std::vector<Alert> active;  // worst first
  std::vector<Alert> ended;   // the newest first
  std::vector<DeliveryFigures> deliveries;
};

// GET /metrics, with what its page needs beyond the snapshot (serve/metrics_keeper.h).

struct MetricsQuestion {
  std::string_view profiles;  // "berth,dcgm"; empty: the default
  std::string_view accept;    // the header, for choosing between text and OpenMetrics
  WallTime now;
};

struct MetricsText {
  std::string type;  // with its version: "text/plain; version=0.0.4; charset=utf-8"
  std::shared_ptr<const std::string> body;
};

class MetricsSource {
 public:
  virtual ~MetricsSource() = default;
  /// Nothing: there is no such profile.
  [[nodiscard]] virtual std::optional<MetricsText> page(const std::shared_ptr<const Snapshot>& seen,
                                                        const MetricsQuestion& question) = 0;
};

/// All that an answer may depend on.
struct RequestContext {
  std::shared_ptr<const Snapshot> snapshot;  // null: nobody has looked yet
  std::uint64_t sequence = 0;                // of the snapshot
  std::optional<std::string> simulated;      // the simulated server, known before the first look
  WallTime now;
  Duration interval = std::chrono::seconds(1);
  /// Since when a source has not answered; nothing: all do.
  std::optional<WallTime> unanswered_since;
  Visibility visibility;
  std::shared_ptr<const berth::Policy> rules;  // of the queue (place/policy.h); null: none
  bool are_rules_unread = false;               // there are some, and they cannot be read
  std::vector<Planned> planned;                // reservations that are to begin
  EnergyPrice price;
  std::shared_ptr<const GroupBook> book = std::make_shared<const GroupBook>();
  /// For this snapshot, policy and book. Null: the handler makes them.
  std::shared_ptr<ViewCache> views;
  std::shared_ptr<const FleetView> fleet;    // the servers beside this one; null: none
  std::shared_ptr<const AlertBoard> alerts;  // null: nobody watches for any
  // Null: there is none. They outlive every request.
  const RunSource* runs = nullptr;
  const RunJudge* judge = nullptr;
  const History* history = nullptr;
  bool is_opening_history = false;  // there will be one
  const Acts* acts = nullptr;
  MetricsSource* metrics = nullptr;
  SignIn* sign_in = nullptr;
};

/// How long the newest snapshot may be behind before it is called stale.
[[nodiscard]] bool is_stale(const RequestContext& context);

/// Where an answer is made.
/// `loop`     from memory alone.
/// `history`  reads the server's own history, and may take as long as a disk does.
/// `homes`    reads people's homes, which may hang for ever. It must keep nobody from the history.
/// `act`      waits for processes to end.
/// `stream`   never ends.
/// `pack`     is made from memory, and compressed elsewhere.
enum class WorkKind { loop, history, homes, act, stream, pack };
[[nodiscard]] WorkKind work_kind_of(const HttpRequest& request);

/// Whether the same question gets the same answer until the next snapshot.
[[nodiscard]] bool is_lasting(const HttpRequest& request);
/// Files of the page hold nothing of anybody: they are given without a token. So is a link taken
/// for one.
[[nodiscard]] bool is_for_everybody(const HttpRequest& request);

[[nodiscard]] HttpResponse answer(const HttpRequest& request, const Principal& principal,
                                  const RequestContext& context);

/// The overview as one line of JSON; what server-sent events bring.
[[nodiscard]] std::string overview_json(const Principal& principal, const RequestContext& context);
/// The same in short, of a look that may all be seen: what another berth would read of it. Nobody
/// has looked for alerts.
[[nodiscard]] HostOverview overview_of(const Snapshot& seen);
/// An alert as one line of JSON, with the names that this principal may see.
[[nodiscard]] std::string alert_line(const Alert& alert, const Principal& principal,
                                     const RequestContext& context);

}  // namespace berth::serve
