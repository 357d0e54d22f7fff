// links: berth_serve
// What another server answers, and the URL that one asks: bytes of strangers.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "serve/http_reply.h"
#include "serve/url.h"

namespace fuzz_serve_reply {

namespace {

using namespace berth::serve;

constexpr std::size_t most = 10'000;

void read_in_pieces(std::string_view text, std::size_t step, Method asked,
                    WantedOfReply wanted = WantedOfReply::all) {
  ReplyReader reader(asked, most, wanted);
  bool whole = false;
  for (; !text.empty() && !whole; text.remove_prefix(std::min(step, text.size()))) {
    const auto state = reader.feed(text.substr(0, step));
    if (!state) {
      BERTH_CHECK(!state.error().message().empty(), "a mistake is named");
      return;
    }
    whole = *state;
  }
  if (!reader.end()) return;
  const auto reply = reader.take();
  if (!reply) return;
  BERTH_CHECK(reply->body.size() <= most, "no body is larger than asked for");
  BERTH_CHECK(reply->status >= 200, "an answer is final");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::size_t step : {1UL, 100UL, size + 1}) read_in_pieces(text, step, Method::get);
  read_in_pieces(text, size + 1, Method::head);
  for (const std::size_t step : {1UL, size + 1}) {
    read_in_pieces(text, step, Method::post, WantedOfReply::status);
  }
  const auto url = parse_url(text.substr(0, text.find('\n')));
  if (url) {
    const auto again = parse_url(origin_of(*url) + (url->socket.empty() ? "" : ":") + url->target);
    BERTH_CHECK(again && *again == *url, "a URL is written as it is read");
  }
  return 0;
}

}  // namespace fuzz_serve_reply
