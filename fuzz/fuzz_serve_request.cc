// links: berth_serve
// What strangers send down a connection, over the handler. It is read as the server reads it:
// Beast's parser under our limits, one request after another. How the bytes are cut into pieces
// changes no request.

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "serve/example_context.h"
#include "serve/http_request.h"
#include "serve/request_handler.h"

namespace fuzz_serve_request {

namespace {

using namespace berth::serve;
namespace asio = boost::asio;
namespace beast = boost::beast;
using beast::error_code;

/// A connection that delivers so many bytes at a time.
class Connection {
 public:
  Connection(std::string_view bytes, std::size_t piece) : rest_(bytes), piece_(piece) {}

  template <class Buffers>
  std::size_t read_some(const Buffers& buffers, error_code& error) {
    error = {};
    if (rest_.empty()) error = asio::error::eof;
    const std::size_t got =
        asio::buffer_copy(buffers, asio::buffer(rest_.data(), std::min(piece_, rest_.size())));
    rest_.remove_prefix(got);
    return got;
  }
  template <class Buffers>
  std::size_t read_some(const Buffers& buffers) {
    error_code ignored;
    return read_some(buffers, ignored);
  }

 private:
  std::string_view rest_;
  std::size_t piece_;
};

/// All requests of one connection, and the status of the answer to what is no request; 0: that
/// never came.
struct Conversation {
  std::vector<HttpRequest> requests;
  int refused_with = 0;
};

Conversation conversation_of(std::string_view bytes, std::size_t piece) {
  Connection connection(bytes, piece);
  beast::flat_buffer buffer{most_request_bytes};
  std::optional<RequestParser> parser;
  Conversation heard;
  constexpr std::size_t enough = 20;
  while (heard.requests.size() < enough) {
    start_parser(parser);
    error_code error;
    beast::http::read(connection, buffer, *parser, error);
    if (error) {
      if (const auto refusal = answer_to_malformed(error)) heard.refused_with = refusal->status;
      break;
    }
    auto request = request_of(parser->get(), parser->chunked());
    if (!request) {
      heard.refused_with = request.error().status;
      break;
    }
    BERTH_CHECK(request->path.find("/../") == std::string::npos, "a path does not climb");
    BERTH_CHECK(request->body.size() <= most_body_bytes, "a body has its limit");
    heard.requests.push_back(*std::move(request));
    if (!parser->keep_alive()) break;
  }
  return heard;
}

bool same(const HttpRequest& one, const HttpRequest& other) {
  return one.method == other.method && one.path == other.path && one.query == other.query &&
         one.headers == other.headers && one.body == other.body;
}

void ask(const HttpRequest& request, const RequestContext& request_context) {
  RequestHandler handler([](const std::string&) {});
  handler.publish(request_context);
  for (const auto& peer :
       {Peer{.listener = ListenerKind::loopback, .uid = {}, .address = "a"},
        Peer{.listener = ListenerKind::unix_socket, .uid = alice, .address = "b"}}) {
    const Reception got = handler.receive(request, peer, request_context.now, {});
    if (const auto* elsewhere = std::get_if<Elsewhere>(&got)) {
      (void)finished(request, answer(request, elsewhere->principal, elsewhere->context));
    } else if (const auto* streaming = std::get_if<Streaming>(&got)) {
      Subscriber subscriber = handler.subscribe(streaming->principal, request);
      (void)handler.news_for(subscriber);
    } else {
      const auto& response = std::get<HttpResponse>(got);
      BERTH_CHECK(response.status != 503 || !response.body ||
                      response.body->find("\"bug\"") == std::string::npos,
                  "no library is surprised by what a stranger writes");
      const bool hides = !peer.uid && response.body && response.status == 200;
      BERTH_CHECK(!hides || response.body->find("secret") == std::string::npos ||
                      request.method == Method::post,
                  "nobody in particular sees no command");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  const Conversation heard = conversation_of(bytes, bytes.size() + 1);
  const Conversation in_pieces = conversation_of(bytes, 7);
  BERTH_CHECK(std::ranges::equal(heard.requests, in_pieces.requests, same),
              "how the bytes arrive changes no request");
  // In one piece more may be known to be wrong of a head that never came to its end.
  BERTH_CHECK(heard.refused_with == in_pieces.refused_with || in_pieces.refused_with == 0,
              "nor what is said to no request");
  static const RequestContext request_context = example_context();
  for (const HttpRequest& request : heard.requests) ask(request, request_context);
  return 0;
}

}  // namespace fuzz_serve_request
