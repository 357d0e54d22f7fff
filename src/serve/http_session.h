#pragma once
// Session: one connection, from its first byte to its last. Only http_*.cc include this.

#include <boost/asio/ssl/context.hpp>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>

#include "serve/http_asio.h"
#include "serve/request_handler.h"
#include "serve/workers.h"

namespace berth::serve {

class Session;

/// So many connections at once, and those of them that would make room for a newcomer.
struct ConnectionSlots {
  std::size_t most = 0;
  std::size_t taken = 0;
  /// Sessions that wait for a further request. The one that has waited longest is first.
  std::list<Session*> idle;
  /// Sessions whose request, or first word, is not here yet, by their peer. The oldest is first.
  std::map<std::string, std::list<Session*>> unfinished;
};

/// Threads for one kind of work that the loop does not do.
struct Crew {
  explicit Crew(int how_many) : workers(how_many), threads(how_many) {}
  /// Each of them is at something that nobody waits for any more.
  [[nodiscard]] bool hangs() const { return late >= threads; }
  Workers workers;
  int threads;
  int late = 0;  // of the loop's thread alone
};

/// What all connections of a server share.
struct ServerState {
  ServerState(Loop& the_loop, RequestHandler& the_handler, Clock& the_clock)
      : loop(the_loop), handler(the_handler), clock(the_clock) {}
  ConnectionSlots& places_at(ListenerKind listener) {
    return listener == ListenerKind::unix_socket ? at_socket : at_addresses;
  }
  Loop& loop;
  RequestHandler& handler;
  Clock& clock;
  /// Apart: homes that hang (all of them are often one file server's) keep nobody from the history.
  Crew history{2};
  Crew homes{4};
  Crew acts{2};
  Crew packers{1};
  Crew& crew_at(WorkKind work) {
    if (work == WorkKind::act) return acts;
    if (work == WorkKind::pack) return packers;
    return work == WorkKind::homes ? homes : history;
  }
  std::unordered_set<Session*> all;
  std::unordered_set<Session*> readers;  // of events
  /// Apart: a peer that fills all places at the addresses keeps nobody from the socket.
  ConnectionSlots at_socket;
  ConnectionSlots at_addresses;
  bool draining = false;
  std::uint64_t requests = 0;
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(std::shared_ptr<ServerState> server, Peer peer);
  virtual ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  virtual void start() = 0;
  /// There may be news for a reader of server-sent events here.
  virtual void wake() = 0;
  /// Ends once what is being answered has been.
  virtual void finish_soon() = 0;
  /// Ends now.
  virtual void drop() = 0;
  /// Ends now, and its place is another's at once.
  void make_room();

 protected:
  /// Waits for a further request.
  void become_idle();
  /// Owes one: its first, or the rest of one.
  void become_unfinished();
  void become_busy();
  /// Shared: what still waits in the loop when the server has gone holds sessions.
  std::shared_ptr<ServerState> server_;
  Peer peer_;

 private:
  [[nodiscard]] bool is_idle() const { return list_ == &places_.idle; }
  void enter(std::list<Session*>& list);
  ConnectionSlots& places_;
  bool has_place_ = true;
  std::list<Session*>* list_ = nullptr;  // one of the places', or null: it is busy
  std::list<Session*>::iterator position_;
};

/// A session over the connection; with `tls`, one that begins with a handshake.
[[nodiscard]] std::shared_ptr<Session> make_session(std::shared_ptr<ServerState> server,
                                                    Socket socket, Peer peer,
                                                    std::shared_ptr<asio::ssl::context> tls);

}  // namespace berth::serve
