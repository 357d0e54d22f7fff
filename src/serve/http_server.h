#pragma once
// The listeners: sockets that requests come in through. Requests go to the handler. This file knows
// bytes, connections and time.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "serve/http_loop.h"
#include "serve/request_handler.h"
#include "serve/settings.h"

namespace berth::serve {

/// For how many connections this process may have descriptors; raises its limit as far as it may.
[[nodiscard]] std::size_t connections_with_room();

struct ListenPlan {
  std::string socket;  // the Unix socket's path; empty: none
  std::vector<Address> listen;
  /// For the addresses that others can reach.
  std::optional<TlsFiles> tls;
  /// One of eight is for the Unix socket alone.
  std::size_t most_connections = 4096;
};

class HttpServer {
 public:
  /// Opens all listeners, or none. busy: the address or the socket is another's. The loop, the
  /// handler and the clock outlive it.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> open(Loop& loop, RequestHandler& handler,
                                                                Clock& clock,
                                                                const ListenPlan& plan);
  ~HttpServer();

  /// As they were opened: a port of 0 has become a number.
  [[nodiscard]] const std::vector<Address>& addresses() const;
  /// Reads the certificates again. If that fails, those in use stay.
  [[nodiscard]] Result<void> reload_certificates(const TlsFiles& files);
  /// Tells all readers of server-sent events what is new.
  void wake_subscribers();
  /// Takes nobody in any more, lets everybody finish who is being answered, then calls `done`.
  void drain(std::function<void()> done);
  [[nodiscard]] std::uint64_t requests() const;

  struct Parts;

 private:
  explicit HttpServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::serve
