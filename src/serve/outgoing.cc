#include "serve/outgoing.h"

#include <zlib.h>

#include <algorithm>

#include "base/text.h"
#include "serve/digest.h"
#include "view/report/style_sheet.h"

namespace berth::serve {

namespace {

constexpr std::size_t least_to_compress = 1024;

bool is_compressible(std::string_view type) {
  return type.starts_with("text/") || type.starts_with("application/json") ||
         type.starts_with("application/javascript") ||
         type.starts_with("application/openmetrics") || type.starts_with("image/svg");
}

/// "abc" → "abc-gz": other bytes, another tag.
std::string tag_of_gzipped(std::string tag) { return tag.insert(tag.size() - 1, "-gz"); }

}  // namespace

bool OtherSites::trust(std::string_view origin) const {
  return std::ranges::any_of(trusted_origins, [&](const std::string& trusted) {
    return equals_ignoring_case(trusted, origin);
  });
}

bool is_preflight(const HttpRequest& request, const OtherSites& sites) {
  return request.method == Method::options && header_of(request, "access-control-request-method") &&
         sites.trust(header_of(request, "origin").value_or(""));
}

HttpResponse answer_preflight() {
  HttpResponse response;
  response.status = 204;
  response.headers = {
      {"access-control-allow-methods", "GET, HEAD, POST"},
      {"access-control-allow-headers", "authorization, content-type, last-event-id, x-berth"},
      {"access-control-max-age", "600"}};
  return response;
}

std::string content_policy(std::string_view ancestors) {
  // A report that the page opens keeps to the page's policy: its style sheet is let in by its hash.
  static const std::string report_style = sha256_base64(report_style_sheet);
  return "default-src 'none'; script-src 'self'; style-src 'self' 'sha256-" + report_style +
         "'; img-src 'self' data:; "
         "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors" +
         std::string(ancestors);
}

void add_browser_rules(HttpResponse& response, const OtherSites& sites, std::string_view origin) {
  const auto add = [&](const char* name, std::string value) {
    response.headers.emplace_back(name, std::move(value));
  };
  constexpr std::string_view policy = "content-security-policy";
  if (std::ranges::find(response.headers, policy, &Pairs::value_type::first) ==
      response.headers.end()) {
    std::string ancestors;
    for (const std::string& ancestor : sites.frame_ancestors) ancestors += ' ' + ancestor;
    add("content-security-policy", content_policy(ancestors.empty() ? " 'none'" : ancestors));
  }
  add("x-content-type-options", "nosniff");
  add("referrer-policy", "no-referrer");
  // May be kept, and must be asked about: what one sees depends on who one is.
  add("cache-control", "private, no-cache");
  if (sites.trusted_origins.empty()) return;
  add("vary", "origin");
  // Credentials are never allowed here. Such a page sees what anybody sees, or what a token of its
  // own shows. It never sees what the browser's user has logged in for.
  if (sites.trust(origin)) add("access-control-allow-origin", std::string(origin));
}

Prepared prepared(HttpResponse response) {
  Prepared ready;
  for (const auto& [name, value] : response.headers) {
    if (name == "etag") ready.etag = value;
  }
  std::erase_if(response.headers, [](const auto& header) { return header.first == "etag"; });
  constexpr std::size_t digits = 32;
  if (ready.etag.empty() && !response.is_plain && response.status == 200 && response.body) {
    ready.etag = '"' + sha256_hex(*response.body).substr(0, digits) + '"';
  }
  ready.gzipped = std::move(response.gzipped);
  ready.response = std::move(response);
  return ready;
}

HttpResponse outgoing(const HttpRequest& request, Prepared& ready) {
  HttpResponse response = ready.response;
  if (response.status != 200 || !response.body) return response;
  std::string tag = ready.etag;
  const bool compressible = !response.is_plain && response.body->size() >= least_to_compress &&
                            is_compressible(response.type);
  if (compressible) {
    response.headers.emplace_back("vary", "accept-encoding");
    if (accepts_gzip(header_of(request, "accept-encoding").value_or(""))) {
      if (!ready.gzipped) {
        ready.gzipped = std::make_shared<const std::string>(gzipped(*response.body));
      }
      response.body = ready.gzipped;
      response.headers.emplace_back("content-encoding", "gzip");
      if (!tag.empty()) tag = tag_of_gzipped(tag);
    }
  }
  if (tag.empty() || request.method == Method::post) return response;
  response.headers.emplace_back("etag", tag);
  if (names_tag(header_of(request, "if-none-match").value_or(""), tag)) {
    response.status = 304;
    response.body.reset();
  }
  return response;
}

HttpResponse finished(const HttpRequest& request, HttpResponse response) {
  Prepared ready = prepared(std::move(response));
  return outgoing(request, ready);
}

std::string gzipped(std::string_view text) {
  z_stream stream{};
  constexpr int window_with_gzip_header = 15 + 16;
  constexpr int quick = 4;
  if (::deflateInit2(&stream, quick, Z_DEFLATED, window_with_gzip_header, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    return {};
  }
  std::string out(::deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

bool accepts_gzip(std::string_view accept_encoding) {
  for (const std::string_view part : split(accept_encoding, ',')) {
    const std::size_t semicolon = part.find(';');
    const std::string_view name = trimmed(part.substr(0, semicolon));
    if (!equals_ignoring_case(name, "gzip") && name != "*") continue;
    if (semicolon == std::string_view::npos) return true;
    const std::string_view quality = trimmed(part.substr(semicolon + 1));
    if (!quality.starts_with("q=")) return true;
    return parse_decimal(quality.substr(2)).value_or(0) > 0;
  }
  return false;
}

bool names_tag(std::string_view if_none_match, std::string_view etag) {
  for (std::string_view part : split(if_none_match, ',')) {
    part = trimmed(part);
    if (part == "*") return true;
    if (part.starts_with("W/")) part.remove_prefix(2);
    if (part == etag) return true;
  }
  return false;
}

}  // namespace berth::serve
