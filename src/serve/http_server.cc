#include "serve/http_server.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <optional>
#include <utility>

#include "serve/http_session.h"

namespace berth::serve {

namespace {

/// The file that a path leads to, whatever its name.
using FileIdentity = std::pair<dev_t, ino_t>;

std::optional<FileIdentity> file_at(const std::string& path) {
  struct stat facts{};
  if (::lstat(path.c_str(), &facts) != 0) return std::nullopt;
  return FileIdentity(facts.st_dev, facts.st_ino);
}

using asio::ip::tcp;
using Local = asio::local::stream_protocol;
constexpr int most_unaccepted = 4096;
/// The Unix socket has one place of so many.
constexpr std::size_t part_of_socket = 8;
/// A peer with more of the places than this is a crowd.
constexpr std::size_t part_of_crowd = 4;

Result<std::shared_ptr<asio::ssl::context>> open_tls(const TlsFiles& files) {
  auto tls = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  ErrorOfAsio error;
  tls->set_options(asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1, error);
  const auto wrong = [&](const Sentence& what, const std::string& file) {
    return fail(ErrorCode::invalid, "cannot use {} as {}: {}", file, what, error.message());
  };
  if (tls->use_certificate_chain_file(files.certificate, error)) {
    return wrong(sentence("certificate"), files.certificate);
  }
  if (tls->use_private_key_file(files.key, asio::ssl::context::pem, error)) {
    return wrong(sentence("key"), files.key);
  }
  if (files.client_ca.empty()) return tls;
  if (tls->load_verify_file(files.client_ca, error)) {
    return wrong(sentence("authority of the clients"), files.client_ca);
  }
  tls->set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert, error);
  return tls;
}

/// Whether somebody answers at this socket.
bool is_alive(const std::string& path) {
  asio::io_context context;
  Local::socket socket(context);
  ErrorOfAsio error;
  socket.connect(Local::endpoint(path), error);
  return !error;
}

std::optional<uid_t> uid_of_peer(int fd) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return std::nullopt;
  return credentials.uid;
}

template <class Protocol>
Socket any_socket(typename Protocol::socket socket) {
  return Socket(std::move(socket));
}

}  // namespace

struct HttpServer::Parts {
  Parts(Loop& loop, RequestHandler& handler, Clock& clock)
      : server(std::make_shared<ServerState>(loop, handler, clock)) {}

  struct TcpListener {
    tcp::acceptor acceptor;
    ListenerKind listener;
  };

  std::shared_ptr<ServerState> server;
  std::optional<Local::acceptor> local;
  std::string socket_path;
  std::optional<FileIdentity> socket_made;
  std::vector<std::shared_ptr<TcpListener>> listeners;
  std::vector<Address> addresses;
  std::shared_ptr<asio::ssl::context> tls;
  std::shared_ptr<bool> still_here = std::make_shared<bool>(true);

  asio::io_context& context() { return server->loop.parts().context; }
  Result<void> open_socket(const std::string& path);
  Result<void> open_address(const Address& address);
  void accept_local();
  void accept_tcp(const std::shared_ptr<TcpListener>& listener);
  bool make_room(ConnectionSlots& places);
  void welcome(Socket socket, Peer peer, bool with_tls);
  void wake_readers();
  void wake_some(std::shared_ptr<std::vector<std::weak_ptr<Session>>> waiting);
  void tick();
  void close_listeners();
  void wait_until_empty(std::function<void()> done);
};

Result<void> HttpServer::Parts::open_socket(const std::string& path) {
  struct stat facts{};
  if (::lstat(path.c_str(), &facts) == 0) {
    if (!S_ISSOCK(facts.st_mode)) {
      return fail(ErrorCode::busy, "cannot listen at {}: there is something else", path);
    }
    if (is_alive(path)) {
      return fail(ErrorCode::busy,
                  "cannot listen at {}: another berth serve answers there. `berth serve --link` "
                  "prints a link to its page; else give --socket another path",
                  path);
    }
    ::unlink(path.c_str());
  }
  ErrorOfAsio error;
  local.emplace(context());
  if (path.size() >= sizeof(sockaddr_un{}.sun_path)) {
    return fail(ErrorCode::invalid, "cannot listen at {}: the path is longer than 107 bytes", path);
  }
  local->open(Local(), error);
  if (!error) local->bind(Local::endpoint(path), error);
  // Everybody may ask: the kernel says who it is.
  if (!error && ::chmod(path.c_str(), 0666) != 0) return fail_system(errno, "listen at {}", path);
  if (!error) local->listen(most_unaccepted, error);
  if (error) return fail_system(error.value(), "listen at {}", path);
  socket_path = path;
  socket_made = file_at(path);
  return {};
}

Result<void> HttpServer::Parts::open_address(const Address& address) {
  const std::string place = as_text(address);
  ErrorOfAsio error;
  const auto ip = asio::ip::make_address(address.host, error);
  if (error) return fail_system(error.value(), "listen on {}", place);
  auto listener = std::make_shared<TcpListener>(
      tcp::acceptor(context()), is_loopback(address) ? ListenerKind::loopback : ListenerKind::wide);
  const tcp::endpoint endpoint(ip, address.port);
  listener->acceptor.open(endpoint.protocol(), error);
  if (!error) listener->acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) listener->acceptor.bind(endpoint, error);
  if (!error) listener->acceptor.listen(most_unaccepted, error);
  if (error == asio::error::address_in_use) {
    return fail(ErrorCode::busy,
                "cannot listen on {}: something listens there already. Where that is berth, `berth "
                "serve --link` prints a link to its page. Else give --listen another address "
                "(127.0.0.1:0 takes any free port)",
                place);
  }
  if (error) return fail_system(error.value(), "listen on {}", place);
  addresses.push_back(
      {.host = address.host, .port = listener->acceptor.local_endpoint(error).port()});
  listeners.push_back(std::move(listener));
  return {};
}

/// Whether there is a place now. First a peer with many silent connections makes room, then the
/// longest idle connection. An honest peer asks in a moment, and from few connections.
bool HttpServer::Parts::make_room(ConnectionSlots& places) {
  const auto tell = [&](std::string_view kind, const std::string& what) {
    server->handler.note(kind, fmt::format("{} connections at once: {}", places.taken, what),
                         server->clock.now());
  };
  const auto crowd = std::ranges::max_element(
      places.unfinished, {}, [](const auto& requests) { return requests.second.size(); });
  const std::size_t most = crowd == places.unfinished.end() ? 0 : crowd->second.size();
  if (!places.idle.empty() && most < places.most / part_of_crowd) {
    tell("crowded", "those that have idled longest are closed");
    places.idle.front()->make_room();
    return true;
  }
  if (most == 0) {
    tell("full", "all are being answered, and the newest are turned away");
    return false;
  }
  tell("unfinished", fmt::format("{} of {} have sent no whole request, and the oldest are closed",
                                 most, crowd->first));
  crowd->second.front()->make_room();
  return true;
}

void HttpServer::Parts::welcome(Socket socket, Peer peer, bool with_tls) {
  ConnectionSlots& places = server->places_at(peer.listener);
  if (places.taken >= places.most && !make_room(places)) return;
  make_session(server, std::move(socket), std::move(peer), with_tls ? tls : nullptr)->start();
}

void HttpServer::Parts::accept_local() {
  local->async_accept([this, alive = still_here](const ErrorOfAsio& error, Local::socket socket) {
    if (!*alive || error == asio::error::operation_aborted) return;
    if (error) {  // no descriptor left: it comes back by itself
      return server->loop.after(std::chrono::milliseconds(100), [this, alive] {
        if (*alive && local->is_open()) accept_local();
      });
    }
    const auto uid = uid_of_peer(socket.native_handle());
    welcome(any_socket<Local>(std::move(socket)),
            {.listener = ListenerKind::unix_socket,
             .uid = uid,
             .address = uid ? "uid " + std::to_string(*uid) : "a Unix socket"},
            false);
    accept_local();
  });
}

void HttpServer::Parts::accept_tcp(const std::shared_ptr<TcpListener>& listener) {
  listener->acceptor.async_accept([this, listener, alive = still_here](const ErrorOfAsio& error,
                                                                       tcp::socket socket) {
    if (!*alive || error == asio::error::operation_aborted) return;
    if (error) {
      return server->loop.after(std::chrono::milliseconds(100), [this, listener, alive] {
        if (*alive && listener->acceptor.is_open()) accept_tcp(listener);
      });
    }
    ErrorOfAsio ignored;
    const auto from = socket.remote_endpoint(ignored).address().to_string(ignored);
    socket.set_option(tcp::no_delay(true), ignored);
    welcome(any_socket<tcp>(std::move(socket)), {.listener = listener->listener, .address = from},
            listener->listener == ListenerKind::wide);
    accept_tcp(listener);
  });
}

/// A few at a time: a thousand readers must not keep those waiting who ask meanwhile.
void HttpServer::Parts::wake_some(std::shared_ptr<std::vector<std::weak_ptr<Session>>> waiting) {
  constexpr int at_once = 8;
  for (int i = 0; i < at_once && !waiting->empty(); ++i) {
    if (const auto session = waiting->back().lock()) session->wake();
    waiting->pop_back();
  }
  if (waiting->empty()) return;
  server->loop.post([this, alive = still_here, waiting = std::move(waiting)]() mutable {
    if (*alive) wake_some(std::move(waiting));
  });
}

void HttpServer::Parts::wake_readers() {
  auto waiting = std::make_shared<std::vector<std::weak_ptr<Session>>>();
  for (Session* session : server->readers) waiting->push_back(session->weak_from_this());
  wake_some(std::move(waiting));
}

/// Comments keep proxies from taking a quiet stream for a dead one.
void HttpServer::Parts::tick() {
  server->loop.after(std::chrono::seconds(1), [this, alive = still_here] {
    if (!*alive) return;
    wake_readers();
    tick();
  });
}

void HttpServer::Parts::close_listeners() {
  ErrorOfAsio ignored;
  if (local) local->close(ignored);
  // Another server may have made one of that name since.
  if (!socket_path.empty() && socket_made && file_at(socket_path) == socket_made) {
    ::unlink(socket_path.c_str());
  }
  socket_path.clear();
  for (const auto& listener : listeners) listener->acceptor.close(ignored);
}

void HttpServer::Parts::wait_until_empty(std::function<void()> done) {
  if (server->all.empty()) return done();
  server->loop.after(std::chrono::milliseconds(20),
                     [this, alive = still_here, done = std::move(done)]() mutable {
                       if (*alive) wait_until_empty(std::move(done));
                     });
}

HttpServer::HttpServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

HttpServer::~HttpServer() {
  *parts_->still_here = false;
  parts_->close_listeners();
  for (Session* session : parts_->server->all) session->drop();
}

std::size_t connections_with_room() {
  const std::size_t most = ListenPlan().most_connections;
  constexpr rlim_t own = 256;  // descriptors for everything that is not a connection
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return most / 8;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, most + own);
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return most / 8;
  return std::min<std::size_t>(limit.rlim_cur - std::min<rlim_t>(own, limit.rlim_cur / 5 * 4),
                               most);
}

Result<std::unique_ptr<HttpServer>> HttpServer::open(Loop& loop, RequestHandler& handler,
                                                     Clock& clock, const ListenPlan& plan) {
  auto parts = std::make_unique<Parts>(loop, handler, clock);
  parts->server->at_socket.most = std::max<std::size_t>(plan.most_connections / part_of_socket, 1);
  parts->server->at_addresses.most = plan.most_connections - parts->server->at_socket.most;
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(parts)));
  Parts& own = *server->parts_;
  if (plan.tls) {
    auto tls = open_tls(*plan.tls);
    if (!tls) return std::unexpected(std::move(tls).error());
    own.tls = std::move(*tls);
  }
  for (const Address& address : plan.listen) {
    if (auto opened = own.open_address(address); !opened) return std::unexpected(opened.error());
  }
  if (!plan.socket.empty()) {
    if (auto opened = own.open_socket(plan.socket); !opened) {
      return std::unexpected(opened.error());
    }
    own.accept_local();
  }
  for (const auto& listener : own.listeners) own.accept_tcp(listener);
  own.tick();
  return server;
}

const std::vector<Address>& HttpServer::addresses() const { return parts_->addresses; }

Result<void> HttpServer::reload_certificates(const TlsFiles& files) {
  auto tls = open_tls(files);
  if (!tls) return std::unexpected(std::move(tls).error());
  parts_->tls = std::move(*tls);
  return {};
}

void HttpServer::wake_subscribers() { parts_->wake_readers(); }

void HttpServer::drain(std::function<void()> done) {
  parts_->close_listeners();
  parts_->server->draining = true;
  for (Session* session : parts_->server->all) session->finish_soon();
  parts_->wait_until_empty(std::move(done));
}

std::uint64_t HttpServer::requests() const { return parts_->server->requests; }

}  // namespace berth::serve
