#pragma once
// Requests of our own to other servers: one asynchronous exchange over http, https or a Unix
// socket. It is bounded in time and bytes, whatever the other end does. It lives in a Loop's thread
// and never makes it wait. A few threads of its own look up names. So a name server that hangs
// delays only requests for names that are not known yet. Redirects are not followed. Each exchange
// has a connection of its own.

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "serve/http_loop.h"
#include "serve/http_reply.h"
#include "serve/message.h"
#include "serve/url.h"

namespace berth::serve {

/// Files of PEM; an empty path: none.
struct ClientTls {
  std::string authority;    // whose certificates are trusted, instead of the system's list
  std::string certificate;  // what we show of ourselves
  std::string key;
  friend auto operator<=>(const ClientTls&, const ClientTls&) = default;
};

struct HttpCall {
  Method method = Method::get;
  Url url;
  /// Beside host, user-agent, accept-encoding, connection and content-length.
  Pairs headers;
  std::string body;
  ClientTls tls;
  Duration patience_to_connect = std::chrono::seconds(2);
  Duration patience = std::chrono::seconds(5);  // for all of it
  std::size_t most_bytes = 4 << 20;             // of the body, also when it is unpacked
  WantedOfReply wanted = WantedOfReply::all;
};

class HttpClient {
 public:
  /// Which failure it was, so that one can say what to do:
  ///   invalid        the call itself, or what came back is no HTTP, too large or cut off
  ///   not_found      nobody knows the name
  ///   io             nobody listens there, no way there, the connection was lost
  ///   timeout        no answer in time
  ///   no_permission  its certificate is not trusted
  ///   unsupported    what answers there speaks no TLS with us
  ///   busy           too many names are being looked up
  using Done = std::function<void(Result<HttpReply>)>;

  /// Both outlive it.
  HttpClient(Loop& loop, Clock& clock);
  /// What is under way ends without a word.
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// `done` is called once, in the loop's thread, never from within ask().
  void ask(HttpCall call, Done done);
  /// Certificates and authorities are read from their files again from now on.
  void forget_certificates();
  [[nodiscard]] std::size_t under_way() const;

  struct Parts;

 private:
  std::unique_ptr<Parts> parts_;
};

/// One request, in a loop of its own.
[[nodiscard]] Result<HttpReply> ask_and_wait(HttpCall call, Clock& clock);

}  // namespace berth::serve
