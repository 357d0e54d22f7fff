// links: berth_serve
// A request as strangers write it, over the desk: the first line is "METHOD TARGET", headers follow
// up to an empty line, the rest is the body.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "serve/desk.h"
#include "serve/example_world.h"
#include "serve/gate.h"

namespace fuzz_serve_request {

namespace {

using namespace berth::serve;

std::optional<Request> parsed(std::string_view text) {
  const auto next_line = [&] {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
  };
  const std::string_view first = next_line();
  const std::size_t space = first.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  auto target = parse_target(first.substr(space + 1));
  if (!target) return std::nullopt;
  BERTH_CHECK(target->path.find("/../") == std::string::npos, "a path does not climb");
  Request request{.method = method_from_name(first.substr(0, space)),
                  .path = std::move(target->path),
                  .query = std::move(target->query)};
  for (std::string_view line = next_line(); !line.empty(); line = next_line()) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    request.headers.emplace_back(berth::small_letters(line.substr(0, colon)),
                                 std::string(berth::trimmed(line.substr(colon + 1))));
  }
  request.body = std::string(text);
  return request;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto request = parsed({reinterpret_cast<const char*>(data), size});
  if (!request) return 0;
  static const World world = example_world();
  Desk desk([](const std::string&) {});
  desk.publish(world);
  for (const auto& peer : {Peer{.door = Door::loopback, .uid = {}, .address = "a"},
                           Peer{.door = Door::unix_socket, .uid = alice, .address = "b"}}) {
    const Reception got = desk.receive(*request, peer, world.now, {});
    if (const auto* elsewhere = std::get_if<Elsewhere>(&got)) {
      (void)finished(*request, answer(*request, elsewhere->asker, elsewhere->world));
    } else if (const auto* streaming = std::get_if<Streaming>(&got)) {
      Subscriber subscriber = desk.subscribe(streaming->asker, *request);
      (void)desk.news_for(subscriber);
    } else {
      const auto& response = std::get<Response>(got);
      BERTH_CHECK(response.status != 503 || !response.body ||
                      response.body->find("\"bug\"") == std::string::npos,
                  "no library is surprised by what a stranger writes");
      const bool hides = !peer.uid && response.body && response.status == 200;
      BERTH_CHECK(!hides || response.body->find("secret") == std::string::npos ||
                      request->method == Method::post,
                  "nobody in particular sees no command");
    }
  }
  return 0;
}

}  // namespace fuzz_serve_request
