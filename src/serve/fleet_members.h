#pragma once
// The other servers that one wants to see beside this one, as they are written down:
//
//   gpu1                                    http://gpu1:9700
//   gpu2:9800                               http://gpu2:9800
//   big=https://gpu3.lab                    called "big"
//   gpu4 token_file=/etc/berth/gpu4.token   with what its `berth token create` printed
//   https://gpu5 ca=/etc/berth/lab-ca.pem   whose certificate is by that authority
//
// On the command line and in serve.toml each without what follows the first word.

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "serve/http_client.h"
#include "serve/url.h"

namespace berth::serve {

struct FleetMember {
  std::string name;
  Url url;  // its target is what stands before /api/… there, without the last "/"
  std::string token_file;
  ClientTls tls;
  friend bool operator==(const FleetMember&, const FleetMember&) = default;
};

/// The settings under [join] in serve.toml.
struct JoinSettings {
  std::vector<std::string> hosts;
  std::string file;  // empty: none
  Duration interval = std::chrono::seconds(5);
  std::size_t at_once = 16;
};

/// Whether its token would travel in the clear.
[[nodiscard]] bool shows_token(const FleetMember& member);

/// One host, without options. invalid: says what is wrong with it.
[[nodiscard]] Result<FleetMember> parse_member(std::string_view word);
/// One host a line, with options; "#" begins a comment. invalid: says the line.
[[nodiscard]] Result<std::vector<FleetMember>> parse_member_file(std::string_view text);

/// All that are to be joined, the file read. invalid: two have one name, or there are too many.
[[nodiscard]] Result<std::vector<FleetMember>> members_of(const JoinSettings& settings);

}  // namespace berth::serve
