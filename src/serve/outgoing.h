#pragma once
// The last step before an answer leaves. It adds the ETag and the headers that every answer
// carries, compresses, and leaves out what the client has already. Pure.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "serve/message.h"

namespace berth::serve {

/// Other sites whose pages are let near, each as a browser names it: "https://portal.lab".
struct OtherSites {
  std::vector<std::string> trusted_origins;  // ask here, and read what is answered
  std::vector<std::string> frame_ancestors;  // show what is here in a frame
  bool embed = false;                        // anybody's may show the cards below /embed/
  [[nodiscard]] bool trust(std::string_view origin) const;
};

/// What a browser asks on behalf of another site's page before it sends that page's own request.
[[nodiscard]] bool is_preflight(const HttpRequest& request, const OtherSites& sites);
[[nodiscard]] HttpResponse answer_preflight();

/// What a browser may do with a page of ours; `ancestors`: whose pages may show it in a frame.
[[nodiscard]] std::string content_policy(std::string_view ancestors);

/// Headers of every answer for a browser: the answer's own policy if it brings one. `origin`: of
/// the page that asks; empty: it said none.
void add_browser_rules(HttpResponse& response, const OtherSites& sites, std::string_view origin);

/// An answer that many may get: what is made of it is made once.
struct Prepared {
  HttpResponse response;
  std::string etag;                            // with its quotes; empty: it has none
  std::shared_ptr<const std::string> gzipped;  // once somebody has asked for it
};
[[nodiscard]] Prepared prepared(HttpResponse response);

/// The answer to this request. An answer to HEAD has the body, too, which the writer leaves out.
[[nodiscard]] HttpResponse outgoing(const HttpRequest& request, Prepared& prepared);

/// Both, for an answer to one alone.
[[nodiscard]] HttpResponse finished(const HttpRequest& request, HttpResponse response);

[[nodiscard]] std::string gzipped(std::string_view text);
/// "gzip", not "gzip;q=0".
[[nodiscard]] bool accepts_gzip(std::string_view accept_encoding);
/// Whether If-None-Match names this tag.
[[nodiscard]] bool names_tag(std::string_view if_none_match, std::string_view etag);

}  // namespace berth::serve
