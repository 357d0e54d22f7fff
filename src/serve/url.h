#pragma once
// Where a request of our own goes: "https://gpu1:9700/api/v1/overview",
// "unix:/run/x.sock:/healthz".

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::serve {

struct Url {
  enum class Kind { http, https, unix_socket };
  Kind kind = Kind::http;
  std::string host;  // a name or an address without brackets; of a Unix socket "localhost"
  std::uint16_t port = 0;
  std::string socket;        // the path of a Unix socket
  std::string target = "/";  // path and query, as the request line wants them
  friend bool operator==(const Url&, const Url&) = default;
};

/// invalid: another scheme, a name or password in it, a character that no URL has.
[[nodiscard]] Result<Url> parse_url(std::string_view text);

/// The header Host, and the server's name in a sentence: "gpu1:9700", "[::1]:9700". If the port is
/// the scheme's own: "gpu1". For a Unix socket its path.
[[nodiscard]] std::string host_and_port(const Url& url);
/// Without the target: "https://gpu1:9700", "unix:/run/x.sock".
[[nodiscard]] std::string origin_of(const Url& url);

}  // namespace berth::serve
