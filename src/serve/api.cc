#include "serve/api.h"

#include <algorithm>
#include <array>
#include <exception>
#include <ranges>

#include "base/text.h"
#include "health/health.h"
#include "serve/api_json.h"
#include "serve/outgoing.h"
#include "serve/page.h"
#include "view/health_text.h"

extern "C" {
// The document that src/serve/openapi.S places in the program.
extern const char berth_openapi[];
extern const char berth_openapi_end[];
}

namespace berth::serve {

namespace {

enum class Kept { until_next_look, no };

struct Route {
  Method method;
  std::string_view pattern;  // "*" stands for one part
  WorkKind work;
  Kept kept;
  HttpResponse (*answer)(const Question&);
  bool needs_snapshot = true;
  bool is_for_everybody = false;
};
constexpr bool no_snapshot = false;
constexpr bool for_everybody = true;

HttpResponse answer_openapi(const Question&) {
  return json_response(std::string(berth_openapi, berth_openapi_end));
}

HttpResponse answer_stream(const Question&) {
  HttpResponse response;
  response.type = "text/event-stream";
  return response;
}

/// A browser cannot ask "who am I?" by itself. One refusal makes it ask its user. From then on it
/// sends the token, also for server-sent events.
HttpResponse answer_login(const Question& question) {
  HttpResponse response;
  if (question.principal.is_known()) {
    response.status = 303;
    response.type.clear();
    response.headers = {{"location", "/"}};
    return response;
  }
  response = error_response(401, "token_wanted", "this needs a token",
                            "berth token create makes one: give it as the password");
  response.headers = {{"www-authenticate", "Basic realm=\"berth\", charset=\"UTF-8\""}};
  return response;
}

constexpr auto routes = std::to_array<Route>({
    {Method::get, "/gpu-status", WorkKind::loop, Kept::until_next_look, answer_gpu_status},
    {Method::get, "/healthz", WorkKind::loop, Kept::no, answer_healthz, no_snapshot, for_everybody},
    {Method::get, "/metrics", WorkKind::pack, Kept::no, answer_metrics},
    {Method::get, "/login", WorkKind::loop, Kept::no, answer_login, no_snapshot, for_everybody},
    {Method::get, "/api/v1/openapi.json", WorkKind::loop, Kept::until_next_look, answer_openapi,
     no_snapshot},
    {Method::get, "/api/v1/overview", WorkKind::loop, Kept::until_next_look, answer_overview},
    {Method::get, "/api/v1/events", WorkKind::stream, Kept::no, answer_stream},
    {Method::get, "/api/v1/devices", WorkKind::loop, Kept::until_next_look, answer_devices},
    {Method::get, "/api/v1/devices/*", WorkKind::loop, Kept::until_next_look, answer_device},
    {Method::get, "/api/v1/visible-devices", WorkKind::loop, Kept::until_next_look,
     answer_visible_devices},
    {Method::get, "/api/v1/topology", WorkKind::loop, Kept::until_next_look, answer_topology},
    {Method::get, "/api/v1/processes", WorkKind::loop, Kept::until_next_look, answer_processes},
    {Method::get, "/api/v1/leases", WorkKind::loop, Kept::until_next_look, answer_leases},
    {Method::get, "/api/v1/queue", WorkKind::loop, Kept::until_next_look, answer_queue},
    {Method::get, "/api/v1/health", WorkKind::loop, Kept::until_next_look, answer_health},
    {Method::get, "/api/v1/hosts", WorkKind::loop, Kept::until_next_look, answer_hosts,
     no_snapshot},
    {Method::get, "/api/v1/alerts", WorkKind::loop, Kept::until_next_look, answer_alerts},
    {Method::get, "/api/v1/runs", WorkKind::homes, Kept::no, answer_runs, no_snapshot},
    {Method::get, "/api/v1/runs/*", WorkKind::homes, Kept::no, answer_run, no_snapshot},
    {Method::get, "/api/v1/runs/*/samples", WorkKind::homes, Kept::no, answer_run_samples,
     no_snapshot},
    {Method::get, "/api/v1/runs/*/log", WorkKind::homes, Kept::no, answer_run_log, no_snapshot},
    {Method::get, "/api/v1/runs/*/explanation", WorkKind::homes, Kept::no, answer_run_explanation,
     no_snapshot},
    {Method::get, "/api/v1/runs/*/report", WorkKind::homes, Kept::no, answer_run_report,
     no_snapshot},
    {Method::get, "/api/v1/history", WorkKind::history, Kept::no, answer_history, no_snapshot},
    {Method::get, "/api/v1/recent", WorkKind::history, Kept::no, answer_recent, no_snapshot},
    {Method::get, "/api/v1/usage", WorkKind::history, Kept::no, answer_usage, no_snapshot},
    {Method::get, "/api/v1/timeline", WorkKind::history, Kept::no, answer_timeline, no_snapshot},
    {Method::get, "/api/v1/events-log", WorkKind::history, Kept::no, answer_events_log,
     no_snapshot},
    {Method::post, "/api/v1/leases/*/release", WorkKind::act, Kept::no, answer_release},
    {Method::post, "/api/v1/processes/*/signal", WorkKind::act, Kept::no, answer_signal},
    {Method::post, "/api/v1/sign-in", WorkKind::loop, Kept::no, answer_sign_in, no_snapshot,
     for_everybody},
    {Method::post, "/api/v1/sign-in-links", WorkKind::loop, Kept::no, answer_sign_in_link,
     no_snapshot},
    {Method::post, "/api/v1/compose", WorkKind::loop, Kept::no, answer_compose},
});

/// The part of the path that "*" stands for; nothing: another path.
std::optional<std::string_view> match(std::string_view pattern, std::string_view path) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) {
    return pattern == path ? std::optional(std::string_view()) : std::nullopt;
  }
  const std::string_view before = pattern.substr(0, star);
  const std::string_view behind = pattern.substr(star + 1);
  if (path.size() <= before.size() + behind.size()) return std::nullopt;
  if (!path.starts_with(before) || !path.ends_with(behind)) return std::nullopt;
  const std::string_view id =
      path.substr(before.size(), path.size() - before.size() - behind.size());
  return id.find('/') == std::string_view::npos ? std::optional(id) : std::nullopt;
}

/// HEAD is answered as GET; the listener leaves the body out.
Method asked_method(const HttpRequest& request) {
  return request.method == Method::head ? Method::get : request.method;
}

struct Found {
  const Route* route = nullptr;
  std::string_view id;
};

Found find_route(const HttpRequest& request) {
  for (const Route& route : routes) {
    if (route.method != asked_method(request)) continue;
    if (const auto id = match(route.pattern, request.path)) return {&route, *id};
  }
  return {};
}

std::string allowed_methods(std::string_view path) {
  const auto is_there = [&](const Route& one) { return match(one.pattern, path).has_value(); };
  std::string allowed = joined(routes | std::views::filter(is_there), ", ", [](const Route& one) {
    return one.method == Method::get ? "GET, HEAD" : "POST";
  });
  if (allowed.empty() && find_asset(path) != nullptr) allowed = "GET, HEAD";
  return allowed;
}

HttpResponse answer_without_route(const HttpRequest& request) {
  const std::string allowed = allowed_methods(request.path);
  if (allowed.empty()) {
    return error_response(404, "not_found", "there is nothing at " + printable(request.path),
                          "GET /api/v1/openapi.json lists what there is");
  }
  HttpResponse response =
      error_response(405, "method_not_allowed",
                     "that cannot be done with " + printable(request.path), "it takes " + allowed);
  response.headers = {{"allow", allowed}};
  return response;
}

HttpResponse answer_asset(const Asset& asset) {
  HttpResponse response;
  response.type = std::string(asset.type);
  response.headers = {{"etag", std::string(asset.etag)}};
  response.body = std::make_shared<const std::string>(text_of(asset));
  response.gzipped = std::make_shared<const std::string>(asset.gzipped);
  return response;
}

/// The device of a card for other pages' frames; empty: all devices. Such a card is a file of the
/// page like others.
std::optional<std::string_view> card_in(std::string_view path) {
  if (path == "/embed/server") return "";
  return match("/embed/gpu/*", path);
}

}  // namespace

WorkKind work_kind_of(const HttpRequest& request) {
  const Found found = find_route(request);
  // HEAD of a stream has an end.
  if (found.route == nullptr) return WorkKind::loop;
  if (found.route->work == WorkKind::stream && request.method == Method::head)
    return WorkKind::loop;
  return found.route->work;
}

bool is_lasting(const HttpRequest& request) {
  const Found found = find_route(request);
  return found.route != nullptr && found.route->kept == Kept::until_next_look;
}

bool is_for_everybody(const HttpRequest& request) {
  const Found found = find_route(request);
  return find_asset(request.path) != nullptr ||
         (found.route != nullptr && found.route->is_for_everybody);
}

HttpResponse answer(const HttpRequest& request, const Principal& principal,
                    const RequestContext& context) {
  const Found found = find_route(request);
  if (found.route == nullptr) {
    const bool is_get = asked_method(request) == Method::get;
    if (const auto card = is_get ? card_in(request.path) : std::nullopt) {
      return answer_embed(
          {.request = request, .principal = principal, .context = context, .id = *card});
    }
    const Asset* asset = is_get ? find_asset(request.path) : nullptr;
    return asset != nullptr ? answer_asset(*asset) : answer_without_route(request);
  }
  if (!context.snapshot && found.route->needs_snapshot) {
    HttpResponse response = error_response(503, "no_snapshot", "the first look is still under way",
                                           "ask again in a moment");
    response.headers = {{"retry-after", "1"}};
    return response;
  }
  try {
    return found.route->answer(
        {.request = request, .principal = principal, .context = context, .id = found.id});
  } catch (const std::exception& error) {  // the JSON library's, about what a stranger wrote
    return error_response(503, "bug", std::string("unexpected: ") + error.what(), "report this");
  }
}

HttpResponse answer_health(const Question& question) {
  const auto seen = seen_by(question.principal, question.context);
  return json_response(health_json(health_of(*seen), *seen));
}

/// The page's script with a card alone: it asks for what anybody sees, and shows no names.
HttpResponse answer_embed(const Question& question) {
  const auto& look = question.context.snapshot;
  const bool is_there =
      question.id.empty() || !look || std::ranges::any_of(look->devices, [&](const Device& device) {
        return is_called(device, question.id);
      });
  if (!is_there) return no_such("device", question.id);
  const std::string up = question.id.empty() ? "../" : "../../";
  HttpResponse response;
  response.type = "text/html; charset=utf-8";
  response.headers = {{"content-security-policy", content_policy(" *")}};
  response.body = std::make_shared<const std::string>(
      "<!doctype html>\n<html lang=\"en\" data-embed=\"" + up +
      "\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
      "<meta name=\"color-scheme\" content=\"light dark\"><title>berth</title>"
      "<link rel=\"icon\" href=\"" +
      up +
      "assets/icon.svg\">"
      "<link rel=\"stylesheet\" href=\"" +
      up +
      "assets/page.css\">"
      "<script type=\"module\" src=\"" +
      up +
      "assets/page.js\"></script>"
      "</head><body></body></html>\n");
  return response;
}

HttpResponse answer_healthz(const Question& question) {
  constexpr std::int64_t longest_ms = 10'000;
  const RequestContext& context = question.context;
  const bool fresh =
      context.snapshot && context.now.unix_ms - context.snapshot->taken.unix_ms <= longest_ms;
  HttpResponse response = json_response(fresh ? "{\"ok\":true}\n" : "{\"ok\":false}\n");
  response.status = fresh ? 200 : 503;
  return response;
}

HttpResponse answer_metrics(const Question& question) {
  const RequestContext& context = question.context;
  if (context.metrics == nullptr) {
    return error_response(503, "no_metrics", "this berth has no metrics", "");
  }
  const auto page =
      context.metrics->page(seen_by(question.principal, context),
                            {.profiles = parameter_of(question.request, "profile").value_or(""),
                             .accept = header_of(question.request, "accept").value_or(""),
                             .now = context.now});
  if (!page) {
    return error_response(400, "bad_parameter", "there is no such profile of metrics",
                          "profile=berth, dcgm or nvidia_smi, or several with commas");
  }
  HttpResponse response;
  response.type = page->type;
  // Compressing it costs ten times what writing does: only where it is asked for, and not here.
  response.is_plain = !accepts_gzip(header_of(question.request, "accept-encoding").value_or(""));
  response.body = page->body;
  return response;
}

}  // namespace berth::serve
