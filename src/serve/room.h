#pragma once
// Room: the other servers beside this one. Each is asked for its own overview every few seconds;
// its hosts are its own business, so that two who join each other show no more than two. No thread
// per host, and each one's failure is its own.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "serve/http_client.h"
#include "serve/http_loop.h"
#include "serve/room_members.h"
#include "serve/room_report.h"
#include "serve/room_turns.h"

namespace berth::serve {

/// What is known of all, in the order in which they are written down.
struct RoomView {
  struct Host {
    std::shared_ptr<const HostReport> report;
    Instant answered{};  // meaningful where it ever answered
    bool is_up = false;  // by the newest asking
    bool answered_ever = false;
  };
  std::vector<Host> hosts;
};

class Room {
 public:
  /// Both outlive it.
  Room(Loop& loop, Clock& clock);
  ~Room();
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  /// From now on these, each asked for the first time within a moment; what is known of those that
  /// stay is kept. Reads the files of tokens and certificates again.
  void join(std::vector<RoomMember> members, TurnRules rules);
  /// Null: nobody is joined.
  [[nodiscard]] std::shared_ptr<const RoomView> view() const;
  /// Called when there is something new of somebody; may be empty.
  void on_news(std::function<void()> act) { on_news_ = std::move(act); }

 private:
  struct Guest {
    RoomMember member;
    std::string token;  // empty: none
    bool may_be_asked = true;
    std::string etag;
    RoomView::Host host;
  };
  [[nodiscard]] static Guest welcomed(RoomMember member, const std::vector<Guest>& before);
  void turn();
  void ask(std::size_t which);
  void received(std::size_t which, const Result<HttpReply>& answer, WallTime asked);

  Loop& loop_;
  Clock& clock_;
  HttpClient client_;
  TurnRules rules_;
  RoomTurns turns_;
  std::vector<Guest> guests_;
  std::uint64_t joined_ = 0;  // how often: answers to an earlier round are for nobody
  std::uint64_t timer_ = 0;   // the newest; an older one that goes off is ignored
  std::function<void()> on_news_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

/// Asks all once, at the same time, and waits at most `patience`.
[[nodiscard]] std::vector<HostReport> ask_once(const std::vector<RoomMember>& members,
                                               Duration patience, Clock& clock);

}  // namespace berth::serve
