#pragma once
// Whether a stranger's bytes are an HTTP request, and the answer to bytes that are none. It stands
// apart from the connection, so that a fuzzer reads as the server does.

#include <boost/beast/core/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "base/ids.h"
#include "serve/message.h"

namespace berth::serve {

inline constexpr std::uint32_t most_header_bytes = 16 << 10;
inline constexpr std::uint64_t most_body_bytes = 64 << 10;
inline constexpr std::size_t most_request_bytes = most_header_bytes + most_body_bytes;

using RequestParser = boost::beast::http::request_parser<boost::beast::http::string_body>;
using RawRequest = RequestParser::value_type;

/// A parser of one request, with the limits above.
void start_parser(std::optional<RequestParser>& parser);

/// The request as plain values; else what is answered before the connection is closed (400, 501).
[[nodiscard]] std::expected<HttpRequest, HttpResponse> request_of(const RawRequest& raw,
                                                                  bool is_chunked);

/// Nothing: there is nobody left to be answered.
[[nodiscard]] std::optional<HttpResponse> answer_to_malformed(
    const boost::beast::error_code& error);

// The head of an answer as text. Pure.

enum class Afterwards { stays_open, closes };

/// Status line and headers, with the empty line behind them.
[[nodiscard]] std::string head_of(const HttpResponse& response, Afterwards afterwards,
                                  WallTime now);

}  // namespace berth::serve
