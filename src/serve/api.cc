#include "serve/api.h"

#include <algorithm>
#include <array>
#include <exception>

#include "base/text.h"
#include "health/health.h"
#include "serve/api_json.h"
#include "serve/page.h"
#include "view/health_text.h"

extern "C" {
// Of the document that src/serve/openapi.S places in the program.
extern const char berth_openapi[];
extern const char berth_openapi_end[];
}

namespace berth::serve {

namespace {

enum class Kept { until_next_look, no };

struct Route {
  Method method;
  std::string_view pattern;  // "*" stands for one part
  Place place;
  Kept kept;
  Response (*answer)(const Question&);
};

Response answer_openapi(const Question&) {
  return json_response(std::string(berth_openapi, berth_openapi_end));
}

Response answer_stream(const Question&) {
  Response response;
  response.type = "text/event-stream";
  return response;
}

/// A browser has no word for "ask me who I am": being refused once makes it ask, and it knows from
/// then on, also for server-sent events.
Response answer_login(const Question& question) {
  Response response;
  if (question.asker.is_known()) {
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
    {Method::get, "/gpu-status", Place::loop, Kept::until_next_look, answer_gpu_status},
    {Method::get, "/healthz", Place::loop, Kept::no, answer_healthz},
    {Method::get, "/metrics", Place::loop, Kept::no, answer_metrics},
    {Method::get, "/login", Place::loop, Kept::no, answer_login},
    {Method::get, "/api/v1/openapi.json", Place::loop, Kept::until_next_look, answer_openapi},
    {Method::get, "/api/v1/overview", Place::loop, Kept::until_next_look, answer_overview},
    {Method::get, "/api/v1/events", Place::stream, Kept::no, answer_stream},
    {Method::get, "/api/v1/devices", Place::loop, Kept::until_next_look, answer_devices},
    {Method::get, "/api/v1/devices/*", Place::loop, Kept::until_next_look, answer_device},
    {Method::get, "/api/v1/processes", Place::loop, Kept::until_next_look, answer_processes},
    {Method::get, "/api/v1/leases", Place::loop, Kept::until_next_look, answer_leases},
    {Method::get, "/api/v1/queue", Place::loop, Kept::until_next_look, answer_queue},
    {Method::get, "/api/v1/health", Place::loop, Kept::until_next_look, answer_health},
    {Method::get, "/api/v1/hosts", Place::loop, Kept::until_next_look, answer_hosts},
    {Method::get, "/api/v1/alerts", Place::loop, Kept::until_next_look, answer_alerts},
    {Method::get, "/api/v1/runs", Place::homes, Kept::no, answer_runs},
    {Method::get, "/api/v1/runs/*", Place::homes, Kept::no, answer_run},
    {Method::get, "/api/v1/runs/*/samples", Place::homes, Kept::no, answer_run_samples},
    {Method::get, "/api/v1/runs/*/log", Place::homes, Kept::no, answer_run_log},
    {Method::get, "/api/v1/history", Place::history, Kept::no, answer_history},
    {Method::get, "/api/v1/usage", Place::history, Kept::no, answer_usage},
    {Method::get, "/api/v1/timeline", Place::history, Kept::no, answer_timeline},
    {Method::get, "/api/v1/events-log", Place::history, Kept::no, answer_events_log},
    {Method::post, "/api/v1/leases/*/release", Place::act, Kept::no, answer_release},
    {Method::post, "/api/v1/processes/*/signal", Place::act, Kept::no, answer_signal},
    {Method::post, "/api/v1/compose", Place::loop, Kept::no, answer_compose},
});

/// What "*" stands for; nothing: another path.
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

/// HEAD is answered as GET; the door leaves the body out.
Method asked_method(const Request& request) {
  return request.method == Method::head ? Method::get : request.method;
}

struct Found {
  const Route* route = nullptr;
  std::string_view id;
};

Found find_route(const Request& request) {
  for (const Route& route : routes) {
    if (route.method != asked_method(request)) continue;
    if (const auto id = match(route.pattern, request.path)) return {&route, *id};
  }
  return {};
}

std::string allowed_methods(std::string_view path) {
  std::string allowed;
  for (const Route& route : routes) {
    if (!match(route.pattern, path)) continue;
    allowed += allowed.empty() ? "" : ", ";
    allowed += route.method == Method::get ? "GET, HEAD" : "POST";
  }
  if (allowed.empty() && find_asset(path) != nullptr) allowed = "GET, HEAD";
  return allowed;
}

Response answer_without_route(const Request& request) {
  const std::string allowed = allowed_methods(request.path);
  if (allowed.empty()) {
    return error_response(404, "not_found", "there is nothing at " + printable(request.path),
                          "GET /api/v1/openapi.json lists what there is");
  }
  Response response =
      error_response(405, "method_not_allowed",
                     "that cannot be done with " + printable(request.path), "it takes " + allowed);
  response.headers = {{"allow", allowed}};
  return response;
}

Response answer_asset(const Asset& asset) {
  Response response;
  response.type = std::string(asset.type);
  response.headers = {{"etag", std::string(asset.etag)}};
  response.body = std::make_shared<const std::string>(text_of(asset));
  response.gzipped = std::make_shared<const std::string>(asset.gzipped);
  return response;
}

bool needs_snapshot(const Route& route) {
  return route.answer != answer_openapi && route.answer != answer_login &&
         route.answer != answer_healthz && route.answer != answer_hosts &&
         route.place != Place::history && route.place != Place::homes;
}

}  // namespace

Place place_of(const Request& request) {
  const Found found = find_route(request);
  // HEAD of a stream has an end.
  if (found.route == nullptr) return Place::loop;
  if (found.route->place == Place::stream && request.method == Method::head) return Place::loop;
  return found.route->place;
}

bool is_lasting(const Request& request) {
  const Found found = find_route(request);
  return found.route != nullptr && found.route->kept == Kept::until_next_look;
}

bool is_for_everybody(const Request& request) {
  const Found found = find_route(request);
  return find_asset(request.path) != nullptr ||
         (found.route != nullptr &&
          (found.route->answer == answer_healthz || found.route->answer == answer_login));
}

Response answer(const Request& request, const Asker& asker, const World& world) {
  const Found found = find_route(request);
  if (found.route == nullptr) {
    const Asset* asset = asked_method(request) == Method::get ? find_asset(request.path) : nullptr;
    return asset != nullptr ? answer_asset(*asset) : answer_without_route(request);
  }
  if (!world.snapshot && needs_snapshot(*found.route)) {
    Response response = error_response(503, "no_snapshot", "the first look is still under way",
                                       "ask again in a moment");
    response.headers = {{"retry-after", "1"}};
    return response;
  }
  try {
    return found.route->answer(
        {.request = request, .asker = asker, .world = world, .id = found.id});
  } catch (const std::exception& error) {  // the JSON library's, about what a stranger wrote
    return error_response(503, "bug", std::string("unexpected: ") + error.what(), "report this");
  }
}

Response answer_health(const Question& question) {
  const auto seen = seen_by(question.asker, question.world);
  return json_response(health_json(health_of(*seen), *seen));
}

Response answer_healthz(const Question& question) {
  constexpr std::int64_t longest_ms = 10'000;
  const World& world = question.world;
  const bool fresh =
      world.snapshot && world.now.unix_ms - world.snapshot->taken.unix_ms <= longest_ms;
  Response response = json_response(fresh ? "{\"ok\":true}\n" : "{\"ok\":false}\n");
  response.status = fresh ? 200 : 503;
  return response;
}

Response answer_metrics(const Question& question) {
  const World& world = question.world;
  if (world.metrics == nullptr) {
    return error_response(503, "no_metrics", "this berth has no metrics", "");
  }
  const auto page =
      world.metrics->page(seen_by(question.asker, world),
                          {.profiles = parameter_of(question.request, "profile").value_or(""),
                           .accept = header_of(question.request, "accept").value_or(""),
                           .now = world.now});
  if (!page) {
    return error_response(400, "bad_parameter", "there is no such profile of metrics",
                          "profile=berth, dcgm or nvidia_smi, or several with commas");
  }
  Response response;
  response.type = page->type;
  // A page a scrape, and most scrapers sit near: compressing it costs ten times what writing does.
  response.is_plain = true;
  response.body = page->body;
  return response;
}

}  // namespace berth::serve
