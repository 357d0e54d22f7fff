#include "serve/http_reply.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <utility>

#include "base/gzip.h"
#include "base/text.h"

namespace berth::serve {

namespace {

namespace http = boost::beast::http;

constexpr std::uint32_t most_reply_header_bytes = 16 << 10;
using Parser = http::response_parser<http::string_body>;

/// RFC 9110, 15.2: any number of these may come before the answer. 101 is one: what follows it is
/// no HTTP.
bool is_interim(unsigned status) { return status >= 100 && status < 200 && status != 101; }

std::unexpected<Error> too_large(std::size_t most) {
  return fail(ErrorCode::invalid, "the answer is larger than {} bytes", most);
}

}  // namespace

struct ReplyReader::Parts {
  std::optional<Parser> parser;
  std::string pending;  // what the parser wants to see again with more behind it
  std::size_t most_body_bytes = 0;
  std::size_t received = 0;
  bool has_body = true;  // one that is wanted

  void begin() {
    parser.emplace();
    parser->header_limit(most_reply_header_bytes);
    parser->body_limit(most_body_bytes);
    parser->eager(true);
    parser->skip(!has_body);
  }
  /// Whether the answer is whole.
  [[nodiscard]] bool is_whole() const {
    return parser->is_done() && !is_interim(parser->get().result_int());
  }
  [[nodiscard]] std::unexpected<Error> failed(const boost::system::error_code& error) const {
    if (error == http::error::body_limit || error == http::error::buffer_overflow) {
      return too_large(most_body_bytes);
    }
    if (error == http::error::header_limit) {
      return fail(ErrorCode::invalid, "the headers of the answer are larger than 16 KiB");
    }
    return fail(ErrorCode::invalid, "the answer is no HTTP: {}", error.message());
  }
};

std::optional<std::string_view> header_of(const HttpReply& reply, std::string_view name) {
  const auto found = std::find_if(reply.headers.begin(), reply.headers.end(),
                                  [&](const auto& one) { return one.first == name; });
  if (found == reply.headers.end()) return std::nullopt;
  return found->second;
}

ReplyReader::ReplyReader(Method asked, std::size_t most_body_bytes, WantedOfReply wanted)
    : parts_(std::make_unique<Parts>()) {
  parts_->most_body_bytes = most_body_bytes;
  parts_->has_body = asked != Method::head && wanted == WantedOfReply::all;
  parts_->begin();
}
ReplyReader::~ReplyReader() = default;

Result<bool> ReplyReader::feed(std::string_view bytes) {
  Parts& own = *parts_;
  if (own.is_whole()) return true;
  own.received += bytes.size();
  // A body in pieces of one byte has more bytes around it than in it. Twice the room is enough for
  // every honest server.
  if (own.received > 2 * (own.most_body_bytes + most_reply_header_bytes)) {
    return too_large(own.most_body_bytes);
  }
  own.pending.append(bytes);
  std::size_t used = 0;
  while (used < own.pending.size() && !own.is_whole()) {
    if (own.parser->is_done()) own.begin();  // one was skipped
    boost::system::error_code error;
    const std::size_t taken = own.parser->put(
        boost::asio::buffer(own.pending.data() + used, own.pending.size() - used), error);
    used += taken;
    if (error && error != http::error::need_more) return own.failed(error);
    if (error || taken == 0) break;
  }
  own.pending.erase(0, used);
  if (own.is_whole()) return true;
  if (own.pending.size() > 2 * most_reply_header_bytes) {
    return fail(ErrorCode::invalid, "the answer is no HTTP: a line of it never ends");
  }
  return false;
}

Result<void> ReplyReader::end() {
  if (parts_->is_whole()) return {};
  Parser& parser = *parts_->parser;
  const bool got_some = parser.got_some() && !parser.is_done();  // behind what was skipped
  boost::system::error_code error;
  if (got_some) parser.put_eof(error);
  if (!error && parts_->is_whole()) return {};
  if (!got_some) {
    return fail(ErrorCode::io, "the connection was closed without an answer");
  }
  return fail(ErrorCode::invalid, "the answer was cut off");
}

Result<HttpReply> ReplyReader::take() {
  auto message = parts_->parser->release();
  HttpReply reply;
  reply.status = static_cast<int>(message.result_int());
  constexpr int least_final = 200;
  if (reply.status < least_final) {
    return fail(ErrorCode::invalid, "the answer has status {}", reply.status);
  }
  for (const auto& field : message) {
    const auto name = field.name_string();
    const auto value = field.value();
    reply.headers.emplace_back(small_letters({name.data(), name.size()}),
                               std::string(value.data(), value.size()));
  }
  reply.body = std::move(message.body());
  const std::string_view coding = trimmed(header_of(reply, "content-encoding").value_or(""));
  if (coding.empty() || equals_ignoring_case(coding, "identity") || reply.body.empty()) {
    return reply;
  }
  if (!equals_ignoring_case(coding, "gzip")) {
    return fail(ErrorCode::invalid, "the answer is packed in a way not asked for: {}",
                printable(coding));
  }
  auto unpacked = gunzipped(reply.body, parts_->most_body_bytes);
  if (!unpacked)
    return std::unexpected(std::move(unpacked).error().because("the answer cannot be unpacked"));
  reply.body = *std::move(unpacked);
  return reply;
}

}  // namespace berth::serve
