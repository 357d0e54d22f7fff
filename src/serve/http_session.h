#pragma once
// Session: one connection, from its first byte to its last. Only http_*.cc include this.

#include <boost/asio/ssl/context.hpp>
#include <list>
#include <memory>
#include <unordered_set>

#include "serve/desk.h"
#include "serve/http_asio.h"
#include "serve/workers.h"

namespace berth::serve {

class Session;

/// What all connections of a server share.
struct Hall {
  Hall(Loop& the_loop, Desk& the_desk, Clock& the_clock)
      : loop(the_loop), desk(the_desk), clock(the_clock) {}
  Loop& loop;
  Desk& desk;
  Clock& clock;
  Workers disk{2};
  Workers acts{2};
  std::unordered_set<Session*> all;
  std::unordered_set<Session*> readers;  // of events
  /// Those that wait for a request, the one that has waited longest first.
  std::list<Session*> idle;
  bool draining = false;
  std::uint64_t requests = 0;
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  explicit Session(std::shared_ptr<Hall> hall);
  virtual ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  virtual void start() = 0;
  /// There may be news for whoever reads server-sent events here.
  virtual void wake() = 0;
  /// Ends once what is being answered has been.
  virtual void finish_soon() = 0;
  /// Ends now.
  virtual void drop() = 0;

 protected:
  void become_idle();
  void become_busy();
  [[nodiscard]] bool is_idle() const { return is_idle_; }
  /// Shared: what still waits in the loop when the server has gone holds sessions.
  std::shared_ptr<Hall> hall_;

 private:
  bool is_idle_ = false;
  std::list<Session*>::iterator place_among_idle_;
};

/// A session over the connection; with `tls`, one that begins with a handshake.
[[nodiscard]] std::shared_ptr<Session> make_session(std::shared_ptr<Hall> hall, Socket socket,
                                                    Peer peer,
                                                    std::shared_ptr<asio::ssl::context> tls);

}  // namespace berth::serve
