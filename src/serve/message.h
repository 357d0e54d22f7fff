#pragma once
// What was asked over HTTP and what is answered, as plain values: everything behind the doors is a
// function from the one to the other, and knows no sockets.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::serve {

enum class Method { get, head, post, options, other };

struct Request {
  Method method = Method::get;
  std::string path;  // decoded, without the query: "/api/v1/devices"
  std::vector<std::pair<std::string, std::string>> query;    // decoded, as they stood
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
};

struct Response {
  int status = 200;
  std::string type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;  // beyond those every answer has
  /// Shared: one answer goes to many.
  std::shared_ptr<const std::string> body;
};

}  // namespace berth::serve
