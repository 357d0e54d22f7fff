#pragma once
// The last step before an answer leaves: its ETag, what the client has already, compression, and
// the headers that every answer carries. Pure.

#include <memory>
#include <string>
#include <string_view>

#include "serve/message.h"

namespace berth::serve {

/// An answer that many may get: what is made of it is made once.
struct Prepared {
  HttpResponse response;
  std::string etag;                            // with its quotes; empty: it has none
  std::shared_ptr<const std::string> gzipped;  // once somebody has asked for it
};
[[nodiscard]] Prepared prepared(HttpResponse response);

/// What goes out to this request; to HEAD with the body, which whoever writes leaves out.
[[nodiscard]] HttpResponse outgoing(const HttpRequest& request, Prepared& prepared);

/// Both, for an answer to one alone.
[[nodiscard]] HttpResponse finished(const HttpRequest& request, HttpResponse response);

[[nodiscard]] std::string gzipped(std::string_view text);
/// "gzip", not "gzip;q=0".
[[nodiscard]] bool accepts_gzip(std::string_view accept_encoding);
/// Whether If-None-Match names this tag.
[[nodiscard]] bool names_tag(std::string_view if_none_match, std::string_view etag);

}  // namespace berth::serve
