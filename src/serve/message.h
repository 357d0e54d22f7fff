#pragma once
// A question over HTTP and its answer, as plain values. Everything behind the listeners is a
// function from question to answer, and knows no sockets.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::serve {

enum class Method { get, head, post, options, other };

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  Method method = Method::get;
  std::string path;  // decoded, without the query: "/api/v1/devices"
  Pairs query;       // decoded, as they stood
  Pairs headers;     // names in lower case
  std::string body;
};

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  Pairs headers;  // beyond those every answer has
  /// Neither compressed nor tagged: it is read once, and another the next time.
  bool is_plain = false;
  /// Shared: one answer goes to many. Null: no body.
  std::shared_ptr<const std::string> body;
  /// The body as gzip, if it was made before. Null: it is made when a client takes it so.
  std::shared_ptr<const std::string> gzipped;
};

/// The first of that name (given in lower case); nothing: there is none.
[[nodiscard]] std::optional<std::string_view> header_of(const HttpRequest& request,
                                                        std::string_view name);
[[nodiscard]] std::optional<std::string_view> parameter_of(const HttpRequest& request,
                                                           std::string_view name);

/// A request line's target, taken apart and decoded.
struct Target {
  std::string path;
  Pairs query;
  /// From a target written as a whole URL; empty: none.
  std::string host;
};
/// Nothing: no path, a broken escape, a control character, or a path that climbs ("..").
[[nodiscard]] std::optional<Target> parse_target(std::string_view target);

[[nodiscard]] Method method_from_name(std::string_view name);

[[nodiscard]] HttpResponse json_response(std::string body, int status = 200);
/// {"error":{"code","message","remedy"}}
[[nodiscard]] HttpResponse error_response(int status, std::string_view code,
                                          std::string_view message, std::string_view remedy);

}  // namespace berth::serve
