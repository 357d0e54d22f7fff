#include "serve/http_request.h"

#include <fmt/format.h>

#include <ctime>
#include <string>
#include <utility>

#include "base/text.h"

namespace berth::serve {

namespace http = boost::beast::http;

void start_parser(std::optional<RequestParser>& parser) {
  parser.emplace();
  parser->header_limit(most_header_bytes);
  parser->body_limit(most_body_bytes);
}

std::expected<HttpRequest, HttpResponse> request_of(const RawRequest& raw, bool is_chunked) {
  // A body may follow such a head. If it were taken for the next request, it would be a way around
  // a proxy.
  if (raw.count(http::field::transfer_encoding) != 0 && !is_chunked) {
    return std::unexpected(
        error_response(501, "transfer_encoding", "only chunked bodies are understood", ""));
  }
  auto target = parse_target({raw.target().data(), raw.target().size()});
  if (!target) {
    return std::unexpected(
        error_response(400, "bad_target", "the path or the query cannot be read", ""));
  }
  HttpRequest request;
  const auto method = raw.method_string();
  request.method = method_from_name({method.data(), method.size()});
  request.path = std::move(target->path);
  request.query = std::move(target->query);
  for (const auto& field : raw) {
    const auto name = field.name_string();
    std::string small = small_letters({name.data(), name.size()});
    if (small == "host" && !target->host.empty()) continue;
    request.headers.emplace_back(std::move(small),
                                 std::string(field.value().data(), field.value().size()));
  }
  // A whole URL names the host, and the header does not count then (RFC 9112, 3.2.2).
  if (!target->host.empty()) request.headers.emplace_back("host", std::move(target->host));
  request.body = raw.body();
  return request;
}

std::optional<HttpResponse> answer_to_malformed(const boost::beast::error_code& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return error_response(431, "headers_too_large", "the headers are larger than 16 KiB", "");
  }
  if (error == http::error::body_limit) {
    return error_response(413, "body_too_large", "the body is larger than 64 KiB", "");
  }
  if (error == http::error::end_of_stream || error == http::error::partial_message) {
    return std::nullopt;
  }
  if (error.category() == http::make_error_code(http::error::bad_method).category()) {
    return error_response(400, "malformed", "this is no HTTP: " + error.message(), "");
  }
  return std::nullopt;
}

namespace {

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Content Too Large";
    case 421:
      return "Misdirected Request";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    default:
      return "-";
  }
}

/// "Sat, 21 Nov 2026 12:00:00 GMT"
std::string http_date(WallTime time) {
  constexpr std::string_view days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::string_view months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t seconds = time.unix_ms / 1000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", days[parts.tm_wday], parts.tm_mday,
                     months[parts.tm_mon], parts.tm_year + 1900, parts.tm_hour, parts.tm_min,
                     parts.tm_sec);
}

}  // namespace

std::string head_of(const HttpResponse& response, Afterwards afterwards, WallTime now) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\ndate: {}\r\n", response.status,
                                 reason_of(response.status), http_date(now));
  const bool is_stream = response.type == "text/event-stream";
  if (!response.type.empty() && (response.body || is_stream)) {
    head += "content-type: " + response.type + "\r\n";
  }
  for (const auto& [name, value] : response.headers) head += name + ": " + value + "\r\n";
  if (!is_stream && response.status != 304 && response.status != 204) {
    head += fmt::format("content-length: {}\r\n", response.body ? response.body->size() : 0);
  }
  head += afterwards == Afterwards::closes ? "connection: close\r\n\r\n" : "\r\n";
  return head;
}

}  // namespace berth::serve
