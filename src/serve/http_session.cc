#include "serve/http_session.h"

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <optional>
#include <utility>

#include "serve/http_request.h"

namespace berth::serve {

namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using Plain = beast::basic_stream<asio::generic::stream_protocol>;
using Tls = beast::ssl_stream<Plain>;

constexpr std::chrono::seconds patience_for_request{10};
constexpr std::chrono::seconds patience_for_answer{10};
constexpr std::chrono::seconds patience_for_disk{15};
constexpr std::chrono::seconds patience_for_act{30};
constexpr std::chrono::seconds patience_for_next_request{60};
constexpr std::chrono::seconds patience_for_news{20};
constexpr std::chrono::seconds patience_at_the_end{1};
constexpr std::chrono::seconds silence_between_comments{15};
constexpr std::size_t first_piece = 1024;

template <class Stream>
class HttpSession final : public Session {
 public:
  HttpSession(std::shared_ptr<ServerState> server, Stream stream, Peer peer,
              std::shared_ptr<asio::ssl::context> tls)
      : Session(std::move(server), std::move(peer)),
        tls_(std::move(tls)),
        stream_(std::move(stream)) {}

  void start() override {
    if constexpr (std::is_same_v<Stream, Tls>) {
      become_unfinished();
      lowest().expires_after(patience_for_request);
      stream_.async_handshake(asio::ssl::stream_base::server,
                              [self = self()](const ErrorOfAsio& error) {
                                self->become_busy();
                                if (error) return self->note("TLS", "no TLS from ");
                                self->await_request();
                              });
    } else {
      await_request();
    }
  }

  void wake() override {
    if (!subscriber_ || writing_) return;
    if (!server_->handler.may_stay(*subscriber_, server_->clock.wall_now())) return drop();
    News news = server_->handler.news_for(*subscriber_);
    const Instant now = server_->clock.now();
    if (news.is_empty() && now - last_sent_ >= silence_between_comments) news.events = ":\n\n";
    if (news.is_empty()) return;
    last_sent_ = now;
    head_ = std::move(news.events);
    body_ = std::move(news.overview);
    write_then(patience_for_news, [](HttpSession& self) { self.wake(); });
  }

  void finish_soon() override {
    if (waits_ || (subscriber_ && !writing_)) return drop();
    closes_ = true;
  }

  void drop() override { lowest().close(); }

 private:
  std::shared_ptr<HttpSession> self() {
    return std::static_pointer_cast<HttpSession>(shared_from_this());
  }
  Plain& lowest() { return beast::get_lowest_layer(stream_); }

  void note(std::string_view kind, const char* what) {
    server_->handler.note(kind, what + peer_.address, server_->clock.now());
  }

  /// Waits for the first byte without holding more than a piece of memory.
  void await_request() {
    if (closes_ || server_->draining) return linger();
    parser_.reset();
    if (buffer_.size() > 0) return read_request();
    // What a large request needed is not kept for small ones.
    buffer_.shrink_to_fit();
    waits_ = true;
    has_asked_ ? become_idle() : become_unfinished();
    lowest().expires_after(patience_for_next_request);
    stream_.async_read_some(buffer_.prepare(first_piece),
                            [self = self()](const ErrorOfAsio& error, std::size_t got) {
                              self->waits_ = false;
                              if (error) return;
                              self->buffer_.commit(got);
                              self->read_request();
                            });
  }

  void read_request() {
    become_unfinished();
    start_parser(parser_);
    // Over all of it: who sends a byte a second is dropped all the same.
    lowest().expires_after(patience_for_request);
    http::async_read(stream_, buffer_, *parser_,
                     [self = self()](const ErrorOfAsio& error, std::size_t) {
                       self->become_busy();
                       error ? self->refuse(error) : self->received();
                     });
  }

  void refuse(const ErrorOfAsio& error) {
    if (error == beast::error::timeout) return note("slow", "too slow a request from ");
    const auto answer = answer_to_malformed(error);
    if (!answer) return;
    note("malformed", "a request that is no HTTP, or too large, from ");
    closes_ = true;
    send(finished(HttpRequest{}, *answer));
  }

  void received() {
    ++server_->requests;
    has_asked_ = true;
    closes_ = closes_ || !parser_->keep_alive();
    auto request = request_of(parser_->get(), parser_->chunked());
    parser_.reset();
    if (!request) {
      closes_ = true;
      return send(finished(HttpRequest{}, std::move(request).error()));
    }
    is_head_ = request->method == Method::head;
    origin_ = header_of(*request, "origin").value_or("");
    Reception reception =
        server_->handler.receive(*request, peer_, server_->clock.wall_now(), server_->clock.now());
    if (auto* response = std::get_if<HttpResponse>(&reception)) return send(std::move(*response));
    if (auto* elsewhere = std::get_if<Elsewhere>(&reception)) {
      return answer_elsewhere(std::move(*request), std::move(*elsewhere));
    }
    begin_stream(*request, std::move(std::get<Streaming>(reception).principal));
  }

  /// A task that other threads do for us. Either they begin it first, or our patience ends it
  /// first. What was refused while it waited is never begun.
  enum class Stage { waits, begun, refused };
  struct Task {
    /// True: it was for us to say.
    bool move_on(Stage to) {
      Stage from = Stage::waits;
      return stage.compare_exchange_strong(from, to);
    }
    std::atomic<Stage> stage = Stage::waits;
    /// These belong to the thread that moved the stage on.
    HttpRequest request;
    Elsewhere how;
    std::shared_ptr<HttpSession> session;
    bool is_late = false;  // of the loop's thread alone
  };

  static HttpResponse made_of(Task& task) {
    if (task.how.made) return std::move(*task.how.made);
    return answer(task.request, task.how.principal, task.how.context);
  }

  void answer_elsewhere(HttpRequest request, Elsewhere how) {
    lowest().expires_never();
    const WorkKind work = how.work;
    const std::uint64_t turn = ++turn_;
    const auto task = std::make_shared<Task>();
    task->request = std::move(request);
    task->how = std::move(how);
    task->session = self();
    lose_patience_with(task, turn);
    Loop& loop = server_->loop;
    const bool given = server_->crew_at(work).workers.give([&loop, task, turn, work] {
      if (!task->move_on(Stage::begun)) return;
      auto response = std::make_shared<HttpResponse>(finished(task->request, made_of(*task)));
      loop.post([task, turn, work, response] {
        // Moved: a session ends in the loop's thread alone.
        const auto session = std::move(task->session);
        if (task->is_late) --session->server_->crew_at(work).late;
        if (session->turn_ != turn) return;
        session->end_turn();
        session->send(std::move(*response));
      });
    });
    if (given) return;
    end_turn();
    task->session.reset();
    send(finished(task->request, not_begun(work)));
  }

  /// A read by other threads is not waited for without end: a file server may have gone.
  void lose_patience_with(const std::shared_ptr<Task>& task, std::uint64_t turn) {
    const WorkKind work = task->how.work;
    others_.expires_after(work == WorkKind::act ? patience_for_act : patience_for_disk);
    const std::weak_ptr<Session> weak = self();
    others_.async_wait([weak, turn, work, task](const ErrorOfAsio& error) {
      const auto session = error ? nullptr : std::static_pointer_cast<HttpSession>(weak.lock());
      if (!session || session->turn_ != turn) return;
      session->end_turn();
      session->send(finished(HttpRequest{}, session->given_up(*task, work)));
    });
  }
  HttpResponse given_up(Task& task, WorkKind work) {
    if (task.move_on(Stage::refused)) {
      // A task that stays in the queue holds nothing.
      task.session.reset();
      task.request = {};
      task.how = {};
      return not_begun(work);
    }
    task.is_late = true;
    ++server_->crew_at(work).late;
    return hangs(work);
  }
  HttpResponse hangs(WorkKind work) {
    if (work == WorkKind::act) {
      note("slow act", "half a minute was not enough for what was asked by ");
      return later("no_answer", "this is still being done, or hangs: it may be done yet",
                   "look at the lease or the process again before asking again");
    }
    note("slow disk", "nothing has answered for seconds what was asked by ");
    return later("no_answer", "the disk that holds this has not answered for seconds",
                 "see what hangs: ps -eo pid,stat,wchan:20,args | grep ' D'");
  }
  HttpResponse not_begun(WorkKind work) {
    // A request that would wait behind hanging ones gets the same answer.
    if (work != WorkKind::act && server_->crew_at(work).hangs()) return hangs(work);
    return later("busy", "too much is being read or done already, and this was not begun",
                 "ask again in a moment");
  }
  void end_turn() {
    ++turn_;
    others_.cancel();
  }

  static HttpResponse later(std::string_view code, std::string_view message,
                            std::string_view remedy) {
    HttpResponse response = error_response(503, code, message, remedy);
    response.headers = {{"retry-after", "5"}};
    return response;
  }

  void write_head(HttpResponse& response, Afterwards afterwards) {
    add_browser_rules(response, server_->handler.rules().sites, std::exchange(origin_, {}));
    head_ = head_of(response, afterwards, server_->clock.wall_now());
  }

  void send(HttpResponse response) {
    closes_ = closes_ || server_->draining;
    write_head(response, closes_ ? Afterwards::closes : Afterwards::stays_open);
    body_ = is_head_ ? nullptr : response.body;
    is_head_ = false;
    write_then(patience_for_answer, [](HttpSession& session) { session.await_request(); });
  }

  /// Sends head_ and body_, then goes on as told.
  void write_then(std::chrono::seconds patience, void (*then)(HttpSession&)) {
    writing_ = true;
    lowest().expires_after(patience);
    const std::array<asio::const_buffer, 2> pieces = {
        asio::buffer(head_), body_ ? asio::buffer(*body_) : asio::const_buffer()};
    asio::async_write(stream_, pieces,
                      [self = self(), then](const ErrorOfAsio& error, std::size_t) {
                        self->writing_ = false;
                        self->body_.reset();
                        if (error == beast::error::timeout)
                          self->note("slow", "too slow a reader at ");
                        if (error) return self->drop();
                        then(*self);
                      });
  }

  void begin_stream(const HttpRequest& request, Principal principal) {
    HttpResponse response;
    response.type = "text/event-stream";
    // nginx would keep back what it has not got enough of.
    response.headers = {{"x-accel-buffering", "no"}};
    response = finished(request, std::move(response));
    subscriber_ = server_->handler.subscribe(std::move(principal), request);
    server_->readers.insert(this);
    lowest().expires_never();
    notice_end();
    last_sent_ = server_->clock.now();
    write_head(response, Afterwards::closes);
    body_.reset();
    write_then(patience_for_news, [](HttpSession& session) {
      if (session.closes_ || session.server_->draining) return session.drop();
      session.wake();
    });
  }

  /// A reader of events sends nothing more. What comes next is the end of the connection.
  void notice_end() {
    stream_.async_read_some(buffer_.prepare(first_piece),
                            [self = self()](const ErrorOfAsio& error, std::size_t) {
                              if (error) return self->drop();
                              self->notice_end();
                            });
  }

  /// Says that nothing more comes, and reads on for a moment. If it closed at once, with bytes
  /// unread, the reader would lose the answer.
  void linger() {
    ErrorOfAsio ignored;
    lowest().socket().shutdown(asio::socket_base::shutdown_send, ignored);
    lowest().expires_after(patience_at_the_end);
    discard(most_request_bytes);
  }
  void discard(std::size_t left) {
    if (left < first_piece) return drop();
    buffer_.clear();
    lowest().async_read_some(buffer_.prepare(first_piece),
                             [self = self(), left](const ErrorOfAsio& error, std::size_t got) {
                               if (error) return self->drop();
                               // From the time it began: what is sent meanwhile prolongs nothing.
                               self->discard(left - std::min(left, std::max(got, first_piece / 4)));
                             });
  }

  std::shared_ptr<asio::ssl::context> tls_;  // outlives the stream
  Stream stream_;
  asio::steady_timer others_{lowest().get_executor()};  // until they have answered for us
  std::uint64_t turn_ = 0;                              // what was asked of others, or given up
  beast::flat_buffer buffer_{most_request_bytes};
  std::optional<RequestParser> parser_;
  std::string origin_;  // of the page whose request is being answered
  std::string head_;
  std::shared_ptr<const std::string> body_;
  std::optional<Subscriber> subscriber_;
  Instant last_sent_{};
  bool waits_ = false;      // for the first byte of a request
  bool has_asked_ = false;  // something, ever
  bool writing_ = false;
  bool closes_ = false;
  bool is_head_ = false;
};

}  // namespace

Session::Session(std::shared_ptr<ServerState> server, Peer peer)
    : server_(std::move(server)),
      peer_(std::move(peer)),
      places_(server_->places_at(peer_.listener)) {
  server_->all.insert(this);
  ++places_.taken;
}

Session::~Session() {
  become_busy();
  if (has_place_) --places_.taken;
  server_->readers.erase(this);
  server_->all.erase(this);
}

void Session::make_room() {
  become_busy();
  if (std::exchange(has_place_, false)) --places_.taken;
  drop();
}

void Session::enter(std::list<Session*>& list) {
  position_ = list.insert(list.end(), this);
  list_ = &list;
}

void Session::become_idle() {
  if (is_idle()) return;
  become_busy();
  enter(places_.idle);
}

void Session::become_unfinished() {
  if (list_ != nullptr && !is_idle()) return;
  become_busy();
  enter(places_.unfinished[peer_.address]);
}

void Session::become_busy() {
  if (list_ == nullptr) return;
  const bool is_last = list_->size() == 1;
  if (is_last && !is_idle()) {
    places_.unfinished.erase(peer_.address);
  } else {
    list_->erase(position_);
  }
  list_ = nullptr;
}

std::shared_ptr<Session> make_session(std::shared_ptr<ServerState> server, Socket socket, Peer peer,
                                      std::shared_ptr<asio::ssl::context> tls) {
  if (tls) {
    Tls stream(Plain(std::move(socket)), *tls);
    return std::make_shared<HttpSession<Tls>>(std::move(server), std::move(stream), std::move(peer),
                                              std::move(tls));
  }
  return std::make_shared<HttpSession<Plain>>(std::move(server), Plain(std::move(socket)),
                                              std::move(peer), nullptr);
}

}  // namespace berth::serve
