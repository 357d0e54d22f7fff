#pragma once
// Another server's answer to a request of ours, from hostile bytes to values. Headers, length and
// body are bounded, and so is the body once it is unpacked. No sockets.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "serve/message.h"

namespace berth::serve {

struct HttpReply {
  int status = 0;
  Pairs headers;     // names in lower case
  std::string body;  // unpacked
};
/// The first of that name (given in lower case); nothing: there is none.
[[nodiscard]] std::optional<std::string_view> header_of(const HttpReply& reply,
                                                        std::string_view name);

/// `status`: the answer is whole with its headers. What follows them is neither read nor judged,
/// and may be missing.
enum class WantedOfReply { all, status };

/// Skips answers that only say that the real one is still to come (1xx).
class ReplyReader {
 public:
  /// `most_body_bytes`: as it comes, and again when it is unpacked.
  ReplyReader(Method asked, std::size_t most_body_bytes, WantedOfReply wanted = WantedOfReply::all);
  ~ReplyReader();
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  /// More of what came. True: the answer is whole. invalid: no HTTP, or more than is wanted.
  [[nodiscard]] Result<bool> feed(std::string_view bytes);
  /// Nothing more will come. invalid: there should have been more.
  [[nodiscard]] Result<void> end();
  /// Once it is whole. invalid: it cannot be unpacked, or is too large then.
  [[nodiscard]] Result<HttpReply> take();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::serve
