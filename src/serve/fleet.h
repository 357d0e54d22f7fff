#pragma once
// Fleet: the other servers beside this one. Each is asked for its own overview every few seconds,
// and never for the hosts beside it. So two servers that join each other show no more than two.
// There is no thread per host, and each one's failure is its own.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "serve/fleet_members.h"
#include "serve/fleet_report.h"
#include "serve/http_client.h"
#include "serve/http_loop.h"
#include "serve/poll_schedule.h"

namespace berth::serve {

/// What is known of all, in the order in which they are written down.
struct FleetView {
  struct Host {
    std::shared_ptr<const HostReport> report;
    std::optional<Instant> answered;  // when it last did; nothing: never
    bool is_up = false;               // by the newest asking
  };
  std::vector<Host> hosts;
};

class Fleet {
 public:
  /// Both outlive it.
  Fleet(Loop& loop, Clock& clock);
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  /// From now on the fleet has these members. Each is asked for the first time within a moment.
  /// What is known of members that stay is kept. Reads the files of tokens and certificates again.
  void join(std::vector<FleetMember> members, PollRules rules);
  /// Null: nobody is joined.
  [[nodiscard]] std::shared_ptr<const FleetView> view() const;
  /// Called when there is something new of somebody; may be empty.
  void on_news(std::function<void()> act) { on_news_ = std::move(act); }

 private:
  struct Member {
    FleetMember member;
    std::string token;  // empty: none
    bool may_be_asked = true;
    std::string etag;
    FleetView::Host host;
  };
  [[nodiscard]] static Member welcomed(FleetMember member, const std::vector<Member>& before);
  void turn();
  void ask(std::size_t which);
  void received(std::size_t which, const Result<HttpReply>& answer, WallTime asked);

  Loop& loop_;
  Clock& clock_;
  HttpClient client_;
  PollRules rules_;
  PollSchedule turns_;
  std::vector<Member> servers_;
  std::uint64_t joined_ = 0;  // how often: answers to an earlier round are for nobody
  std::uint64_t timer_ = 0;   // the newest; an older one that goes off is ignored
  std::function<void()> on_news_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

/// Asks all once, at the same time, and waits at most `patience`.
[[nodiscard]] std::vector<HostReport> ask_once(const std::vector<FleetMember>& members,
                                               Duration patience, Clock& clock);

}  // namespace berth::serve
