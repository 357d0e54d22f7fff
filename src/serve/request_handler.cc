#include "serve/request_handler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace berth::serve {

namespace {

HttpResponse token_wanted(std::string_view message) {
  HttpResponse response =
      error_response(401, "token_wanted", message,
                     "berth token create makes one there, run by the server's own "
                     "user (with sudo for the machine's): "
                     "send Authorization: Bearer TOKEN");
  // Basic as well: a browser asks its user for that by itself.
  response.headers = {{"www-authenticate", "Basic realm=\"berth\", charset=\"UTF-8\""}};
  return response;
}

HttpResponse stay_away(Duration wait) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(wait).count() + 1;
  HttpResponse response =
      error_response(429, "too_many_wrong_tokens", "too many wrong tokens from there",
                     fmt::format("try again in {} s", seconds));
  response.headers = {{"retry-after", std::to_string(seconds)}};
  return response;
}

std::string sort_key(const HttpRequest& request) {
  std::string key = request.path;
  for (const auto& [name, value] : request.query) key += '\n' + name + '=' + value;
  return key;
}

}  // namespace

void RequestHandler::publish(RequestContext context) {
  const bool stale = is_stale(context);
  if (context.sequence != context_.sequence || stale != was_stale_ || change_ == 0) ++change_;
  was_stale_ = stale;
  context_ = std::move(context);
  context_.sign_in = &sign_in_;
  if (!context_.views) {
    context_.views =
        std::make_shared<ViewCache>(context_.snapshot, context_.visibility, context_.book);
  }
  kept_.clear();
  kept_bytes_ = 0;
  overviews_.clear();
}

void RequestHandler::announce(std::string name, std::string data) {
  announce(Event{.name = std::move(name), .data = std::move(data), .alert = std::nullopt});
}

void RequestHandler::announce(Alert alert) {
  announce(Event{.name = "alert", .alert = std::move(alert)});
}

void RequestHandler::announce(Event event) {
  event.number = ++last_event_;
  events_.push_back(std::move(event));
  if (events_.size() > most_events) events_.pop_front();
  overviews_.clear();  // they say which event was the last before them
}

RequestHandler::Identified RequestHandler::identify(const HttpRequest& request, const Peer& peer,
                                                    WallTime now, Instant steady_now) {
  Identified found;
  found.principal.listener = peer.listener;
  if (peer.uid) found.principal = principal_of_peer(*peer.uid, rules_.own_uid, *context_.book);
  const auto authorization = header_of(request, "authorization");
  if (!authorization) {
    const bool wanted = peer.listener == ListenerKind::wide && rules_.require_tokens;
    if (wanted && !is_for_everybody(request)) found.refused = token_wanted("this needs a token");
    return found;
  }
  const auto secret = token_in(*authorization);
  auto token = secret ? rules_.tokens.find(*secret, now) : std::nullopt;
  if (secret && !token) token = sign_in_.sessions().find(*secret, now);
  if (!token) {
    note("wrong token", "a wrong token from " + peer.address, steady_now);
    const auto wait = wrong_tokens_.note(peer.address, steady_now);
    found.refused =
        wait ? stay_away(*wait) : token_wanted("this token is not known, or has expired");
    return found;
  }
  found.principal.uid = token->uid;
  found.principal.user = token->uid ? context_.book->name_of(*token->uid) : std::string();
  found.principal.admin = makes_admin(*token);
  found.principal.token = token->name;
  found.principal.token_sha256 = token->sha256;
  return found;
}

bool RequestHandler::makes_admin(const Token& token) const {
  return token.admin || token.uid == uid_t{0} || (token.uid && *token.uid == rules_.own_uid);
}

HttpResponse RequestHandler::answer_kept(const HttpRequest& request, const Principal& principal) {
  const std::string key = principal.view_key() + '\n' + sort_key(request);
  const auto had = kept_.find(key);
  if (had != kept_.end()) return outgoing(request, had->second);
  Prepared made = prepared(answer(request, principal, context_));
  const std::size_t size = key.size() + (made.response.body ? made.response.body->size() : 0);
  if (made.response.status != 200 || kept_bytes_ + size > most_kept_bytes) {
    return outgoing(request, made);
  }
  kept_bytes_ += size;
  return outgoing(request, kept_.emplace(key, std::move(made)).first->second);
}

Reception RequestHandler::receive(const HttpRequest& request, const Peer& peer, WallTime now,
                                  Instant steady_now) {
  if (auto refused = refusal(request, rules_.hosts, rules_.sites)) {
    return finished(request, std::move(*refused));
  }
  // Before who asks is found out: a browser asks this without a token.
  if (is_preflight(request, rules_.sites)) return answer_preflight();
  if (request.path.starts_with("/embed/") && !rules_.sites.embed) {
    return finished(request, error_response(404, "not_found", "this server shows no cards",
                                            "embed = true in its serve.toml lets any site show "
                                            "/embed/server and /embed/gpu/N in a frame"));
  }
  Identified who = identify(request, peer, now, steady_now);
  if (who.refused) return finished(request, std::move(*who.refused));
  context_.now = now;
  switch (const WorkKind work = work_kind_of(request)) {
    case WorkKind::history:
    case WorkKind::homes:
    case WorkKind::act:
      return Elsewhere{std::move(who.principal), context_, work};
    case WorkKind::stream:
      return Streaming{std::move(who.principal)};
    case WorkKind::pack: {
      HttpResponse made = answer(request, who.principal, context_);
      if (made.is_plain) return finished(request, std::move(made));
      return Elsewhere{std::move(who.principal), {}, work, std::move(made)};
    }
    case WorkKind::loop:
      break;
  }
  if (is_lasting(request)) return answer_kept(request, who.principal);
  return finished(request, answer(request, who.principal, context_));
}

Subscriber RequestHandler::subscribe(Principal principal, const HttpRequest& request) const {
  Subscriber subscriber{
      .principal = std::move(principal), .seen_change = 0, .seen_event = last_event_};
  // A client that comes back names the last that it saw: "CHANGE.EVENT". An earlier daemon's
  // numbers may be ahead of ours. Then the client counts as new.
  const std::string_view last = header_of(request, "last-event-id").value_or("");
  const std::size_t dot = last.find('.');
  if (dot == std::string_view::npos) return subscriber;
  const auto event = parse_unsigned(last.substr(dot + 1));
  if (event && *event <= last_event_) subscriber.seen_event = *event;
  return subscriber;
}

bool RequestHandler::may_stay(const Subscriber& subscriber, WallTime now) const {
  if (subscriber.principal.token.empty()) return true;
  for (const TokenStore* store : {&rules_.tokens, &sign_in_.sessions()}) {
    for (const Token& token : store->tokens()) {
      if (token.sha256 != subscriber.principal.token_sha256) continue;
      return token.uid == subscriber.principal.uid &&
             makes_admin(token) == subscriber.principal.admin &&
             (!token.expires || now < *token.expires);
    }
  }
  return false;
}

News RequestHandler::news_for(Subscriber& subscriber) {
  News news;
  for (const Event& event : events_) {
    if (event.number <= subscriber.seen_event) continue;
    const std::string data =
        event.alert ? alert_line(*event.alert, subscriber.principal, context_) : event.data;
    news.events += fmt::format("event: {}\nid: {}.{}\ndata: {}\n\n", event.name, context_.sequence,
                               event.number, data);
  }
  subscriber.seen_event = last_event_;
  if (subscriber.seen_change == change_ || !context_.snapshot) return news;
  subscriber.seen_change = change_;
  std::shared_ptr<const std::string>& text = overviews_[subscriber.principal.view_key()];
  if (!text) {
    text = std::make_shared<const std::string>(
        fmt::format("event: overview\nid: {}.{}\ndata: {}\n\n", context_.sequence, last_event_,
                    overview_json(subscriber.principal, context_)));
  }
  news.overview = text;
  return news;
}

void RequestHandler::note(std::string_view kind, const std::string& text, Instant now) {
  constexpr Duration pause = std::chrono::minutes(1);
  auto noted = noted_.find(kind);
  if (noted != noted_.end() && now - noted->second.at < pause) {
    ++noted->second.since;
    return;
  }
  if (noted == noted_.end()) noted = noted_.emplace(std::string(kind), Noted{}).first;
  const std::uint64_t more = std::exchange(noted->second, {.at = now, .since = 0}).since;
  log_(more == 0 ? text : fmt::format("{} (and {} like it before)", text, more));
}

namespace {

bool is_known(const std::string& host, const std::vector<std::string>& hosts) {
  for (const std::string_view always : {"localhost", "127.0.0.1", "::1"}) {
    if (host == always) return true;
  }
  return std::find(hosts.begin(), hosts.end(), host) != hosts.end();
}

/// "https://gpu1.lab:9700" → "gpu1.lab:9700"; empty: no such thing ("null").
std::string_view authority_of(std::string_view origin) {
  const std::size_t scheme = origin.find("://");
  return scheme == std::string_view::npos ? std::string_view() : origin.substr(scheme + 3);
}

/// A form of a foreign page can post other types without its browser asking us first.
std::optional<HttpResponse> refused_posting(const HttpRequest& request) {
  if (request.method != Method::post) return std::nullopt;
  const std::string_view type = header_of(request, "content-type").value_or("");
  if (!equals_ignoring_case(trimmed(type.substr(0, type.find(';'))), "application/json")) {
    return error_response(400, "content_type", "what is posted here is JSON",
                          "send Content-Type: application/json");
  }
  return std::nullopt;
}

}  // namespace

std::string host_without_port(std::string_view host) {
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    return small_letters(host.substr(1, end == std::string_view::npos ? end : end - 1));
  }
  // More than one colon: an address of IPv6 without brackets.
  const std::size_t colon = host.find(':');
  if (colon != std::string_view::npos && host.find(':', colon + 1) == std::string_view::npos) {
    host = host.substr(0, colon);
  }
  if (host.ends_with('.')) host.remove_suffix(1);
  return small_letters(host);
}

std::optional<HttpResponse> refusal(const HttpRequest& request,
                                    const std::vector<std::string>& hosts,
                                    const OtherSites& sites) {
  const auto named = std::count_if(request.headers.begin(), request.headers.end(),
                                   [](const auto& header) { return header.first == "host"; });
  if (named != 1) {
    return error_response(400, "no_host", "a request names one Host", "send the header Host");
  }
  const std::string_view host = *header_of(request, "host");
  if (!is_known(host_without_port(host), hosts)) {
    return error_response(421, "unknown_host", "this server is not known as " + printable(host),
                          "use localhost, or name it in the configuration: hosts = [\"…\"]");
  }
  const auto origin = header_of(request, "origin");
  if (origin && !equals_ignoring_case(authority_of(*origin), host) && !sites.trust(*origin)) {
    return error_response(403, "foreign_origin",
                          "pages of " + printable(*origin) + " may not ask here",
                          "open the page of this server itself, or name theirs in its serve.toml: "
                          "trusted_origins = [\"https://…\"]");
  }
  return refused_posting(request);
}

}  // namespace berth::serve
