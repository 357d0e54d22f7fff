#include "serve/url.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"

namespace berth::serve {

namespace {

constexpr std::uint16_t port_of_http = 80;
constexpr std::uint16_t port_of_https = 443;

std::uint16_t usual_port(Url::Kind kind) {
  return kind == Url::Kind::https ? port_of_https : port_of_http;
}

bool is_ipv6(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

bool is_host_name(std::string_view host) {
  constexpr std::size_t longest = 253;
  return !host.empty() && host.size() <= longest &&
         std::all_of(host.begin(), host.end(), [](unsigned char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '-' || c == '_';
         });
}

bool is_visible_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

/// "gpu1:9700", "[::1]", "gpu1"; nothing: neither.
std::optional<Url> with_authority(Url url, std::string_view authority) {
  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    url.host = std::string(authority.substr(1, end - 1));
    if (!is_ipv6(url.host)) return std::nullopt;
    port = authority.substr(end + 1);
  } else {
    const std::size_t colon = std::min(authority.find(':'), authority.size());
    url.host = std::string(authority.substr(0, colon));
    if (!is_host_name(url.host)) return std::nullopt;
    port = authority.substr(colon);
  }
  url.port = usual_port(url.kind);
  if (port.empty()) return url;
  const auto number = port.front() == ':' ? parse_unsigned(port.substr(1)) : std::nullopt;
  if (!number || *number == 0 || *number > 65535) return std::nullopt;
  url.port = static_cast<std::uint16_t>(*number);
  return url;
}

Result<Url> refused_url(std::string_view text, std::string_view why) {
  // Only its address is shown: the rest may be a secret.
  const std::size_t scheme = text.find("://");
  std::string_view shown = text;
  if (scheme != std::string_view::npos) shown = text.substr(0, text.find('/', scheme + 3));
  return fail(ErrorCode::invalid, "\"{}\" cannot be asked: {}", masked_text(printable(shown)), why);
}

}  // namespace

Result<Url> parse_url(std::string_view text) {
  if (!is_visible_ascii(text)) return refused_url(text, "a URL has no spaces and only ASCII");
  Url url;
  if (text.starts_with("unix:")) {
    const std::string_view rest = text.substr(5);
    const std::size_t colon = rest.find(":/");
    url.kind = Url::Kind::unix_socket;
    url.host = "localhost";
    url.socket = std::string(rest.substr(0, colon));
    if (!url.socket.starts_with('/')) return refused_url(text, "unix: wants a path from / on");
    if (colon != std::string_view::npos) url.target = std::string(rest.substr(colon + 1));
    return url;
  }
  std::string_view rest = text;
  if (text.starts_with("http://")) {
    rest.remove_prefix(7);
  } else if (text.starts_with("https://")) {
    url.kind = Url::Kind::https;
    rest.remove_prefix(8);
  } else {
    return refused_url(text, "it begins with neither http:// nor https:// nor unix:");
  }
  rest = rest.substr(0, rest.find('#'));
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  const std::string_view authority = rest.substr(0, end);
  if (authority.find('@') != std::string_view::npos) {
    return refused_url(text, "a name or a password has no place in it");
  }
  auto made = with_authority(std::move(url), authority);
  if (!made) return refused_url(text, "it names no host, or a port that is none");
  const std::string_view target = rest.substr(end);
  if (!target.empty()) made->target = (target.starts_with('/') ? "" : "/") + std::string(target);
  return *std::move(made);
}

std::string host_and_port(const Url& url) {
  if (url.kind == Url::Kind::unix_socket) return url.socket;
  const bool is_v6 = url.host.find(':') != std::string::npos;
  std::string place = is_v6 ? "[" + url.host + "]" : url.host;
  if (url.port != usual_port(url.kind)) place += ":" + std::to_string(url.port);
  return place;
}

std::string origin_of(const Url& url) {
  switch (url.kind) {
    case Url::Kind::http:
      return "http://" + host_and_port(url);
    case Url::Kind::https:
      return "https://" + host_and_port(url);
    case Url::Kind::unix_socket:
      return "unix:" + host_and_port(url);
  }
  return {};
}

}  // namespace berth::serve
