#include "serve/http_head.h"

#include <fmt/format.h>

#include <ctime>

namespace berth::serve {

namespace {

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
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

}  // namespace

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

std::string head_of(const HttpResponse& response, Afterwards afterwards, WallTime now) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\ndate: {}\r\n", response.status,
                                 reason_of(response.status), http_date(now));
  const bool is_stream = response.type == "text/event-stream";
  if (!response.type.empty() && (response.body || is_stream)) {
    head += "content-type: " + response.type + "\r\n";
  }
  for (const auto& [name, value] : response.headers) head += name + ": " + value + "\r\n";
  if (!is_stream && response.status != 304) {
    head += fmt::format("content-length: {}\r\n", response.body ? response.body->size() : 0);
  }
  head += afterwards == Afterwards::closes ? "connection: close\r\n\r\n" : "\r\n";
  return head;
}

}  // namespace berth::serve
