#pragma once
// RequestHandler receives each request that has come through a listener. It checks host and origin,
// and finds out who asks. It answers at once, or says that the answer is made elsewhere or never
// ends. It also keeps answers that many ask for until the next look. One thread; no sockets.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "serve/api.h"
#include "serve/message.h"
#include "serve/outgoing.h"
#include "serve/sign_in.h"
#include "serve/tokens.h"

namespace berth::serve {

/// What a listener knows of a client that has come through it.
struct Peer {
  ListenerKind listener = ListenerKind::loopback;
  std::optional<uid_t> uid;  // of the other end of a Unix socket
  std::string address;       // for counting wrong tokens
};

/// Rules that change seldom.
struct HandlerRules {
  std::vector<std::string> hosts;
  OtherSites sites;
  TokenStore tokens;
  bool require_tokens = false;  // at a wide listener
  uid_t own_uid = 0;
};

/// An answer to be made on another thread, from the context as it was: finished(answer(…)). If it
/// is `made` already, finished(made).
struct Elsewhere {
  Principal principal;
  RequestContext context;
  WorkKind work = WorkKind::history;
  std::optional<HttpResponse> made = std::nullopt;
};
struct Streaming {
  Principal principal;
};
using Reception = std::variant<HttpResponse, Elsewhere, Streaming>;

/// A reader of server-sent events, and how far the reader has got.
struct Subscriber {
  Principal principal;
  std::uint64_t seen_change = 0;
  std::uint64_t seen_event = 0;
};

/// What a subscriber has not seen. First come events for this subscriber alone. Then comes the
/// newest overview: one text for all who see the same.
struct News {
  std::string events;
  std::shared_ptr<const std::string> overview;  // null: it was seen
  [[nodiscard]] bool is_empty() const { return events.empty() && !overview; }
};

class RequestHandler {
 public:
  /// `log`: told of what a person should know, not more than once a minute of each kind.
  explicit RequestHandler(std::function<void(std::string)> log) : log_(std::move(log)) {}

  void set_rules(HandlerRules rules) { rules_ = std::move(rules); }
  [[nodiscard]] const HandlerRules& rules() const { return rules_; }
  [[nodiscard]] SignIn& sign_in() { return sign_in_; }
  /// The newest look, or how long there has been none.
  void publish(RequestContext context);
  /// Puts an event before all subscribers: `name` "health", `data` one line of JSON.
  void announce(std::string name, std::string data);
  /// The same for an alert, which not everybody sees alike.
  void announce(Alert alert);

  [[nodiscard]] Reception receive(const HttpRequest& request, const Peer& peer, WallTime now,
                                  Instant steady_now);
  [[nodiscard]] Subscriber subscribe(Principal principal, const HttpRequest& request) const;
  /// False: the subscriber's token has been revoked, or has expired.
  [[nodiscard]] bool may_stay(const Subscriber& subscriber, WallTime now) const;
  /// Everything this subscriber has not seen. A slow one skips overviews; nothing is kept for it.
  [[nodiscard]] News news_for(Subscriber& subscriber);

  /// Something worth a line in the log; the second of its kind within a minute is only counted.
  void note(std::string_view kind, const std::string& text, Instant now);

 private:
  struct Event {
    std::uint64_t number = 0;
    std::string name;
    std::string data;
    std::optional<Alert> alert;  // `data` is made of it for each who asks
  };
  struct Noted {
    Instant at{};
    std::uint64_t since = 0;
  };
  struct Identified {
    Principal principal;
    std::optional<HttpResponse> refused;
  };
  [[nodiscard]] Identified identify(const HttpRequest& request, const Peer& peer, WallTime now,
                                    Instant steady_now);
  void announce(Event event);
  [[nodiscard]] bool makes_admin(const Token& token) const;
  [[nodiscard]] HttpResponse answer_kept(const HttpRequest& request, const Principal& principal);

  static constexpr std::size_t most_events = 64;
  static constexpr std::size_t most_kept_bytes = 16 << 20;

  std::function<void(std::string)> log_;
  HandlerRules rules_;
  SignIn sign_in_;
  RequestContext context_;
  std::uint64_t change_ = 0;  // counts what subscribers are told of
  bool was_stale_ = true;
  std::map<std::string, Prepared> kept_;  // by view and target
  std::size_t kept_bytes_ = 0;
  std::map<std::string, std::shared_ptr<const std::string>> overviews_;  // as sent, by view
  std::deque<Event> events_;
  std::uint64_t last_event_ = 0;
  WrongTokens wrong_tokens_;
  std::map<std::string, Noted, std::less<>> noted_;
};

// What a request must satisfy before its question is looked at. It must mean this server, and no
// other site's page may send it. Pure.

/// "[::1]:9700" → "::1"; "GPU1.lab:80" → "gpu1.lab".
[[nodiscard]] std::string host_without_port(std::string_view host);

/// The answer to a request that may not pass; nothing: it may. `hosts`: names that this server is
/// known by besides localhost, 127.0.0.1 and ::1, as host_without_port() writes them.
[[nodiscard]] std::optional<HttpResponse> refusal(const HttpRequest& request,
                                                  const std::vector<std::string>& hosts,
                                                  const OtherSites& sites);

}  // namespace berth::serve
