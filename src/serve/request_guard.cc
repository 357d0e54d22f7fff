#include "serve/request_guard.h"

#include <algorithm>

#include "base/text.h"

namespace berth::serve {

namespace {

bool is_known(const std::string& host, const std::vector<std::string>& hosts) {
  for (const std::string_view always : {"localhost", "127.0.0.1", "::1"}) {
    if (host == always) return true;
  }
  return std::find(hosts.begin(), hosts.end(), host) != hosts.end();
}

/// "https://gpu1.lab:9700" → "gpu1.lab:9700"; empty: no such thing ("null").
std::string_view authority_of(std::string_view origin) {
  const std::size_t scheme = origin.find("://");
  return scheme == std::string_view::npos ? std::string_view() : origin.substr(scheme + 3);
}

/// A form of a foreign page can post other types without its browser asking us first.
std::optional<HttpResponse> refused_posting(const HttpRequest& request) {
  if (request.method != Method::post) return std::nullopt;
  const std::string_view type = header_of(request, "content-type").value_or("");
  if (!equals_ignoring_case(trimmed(type.substr(0, type.find(';'))), "application/json")) {
    return error_response(400, "content_type", "what is posted here is JSON",
                          "send Content-Type: application/json");
  }
  return std::nullopt;
}

}  // namespace

std::string host_without_port(std::string_view host) {
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    return small_letters(host.substr(1, end == std::string_view::npos ? end : end - 1));
  }
  // More than one colon: an address of IPv6 without brackets.
  const std::size_t colon = host.find(':');
  if (colon != std::string_view::npos && host.find(':', colon + 1) == std::string_view::npos) {
    host = host.substr(0, colon);
  }
  if (host.ends_with('.')) host.remove_suffix(1);
  return small_letters(host);
}

std::optional<HttpResponse> refusal(const HttpRequest& request,
                                    const std::vector<std::string>& hosts) {
  const auto named = std::count_if(request.headers.begin(), request.headers.end(),
                                   [](const auto& header) { return header.first == "host"; });
  if (named != 1) {
    return error_response(400, "no_host", "a request names one Host", "send the header Host");
  }
  const std::string_view host = *header_of(request, "host");
  if (!is_known(host_without_port(host), hosts)) {
    return error_response(421, "unknown_host", "this server is not known as " + printable(host),
                          "use localhost, or name it in the configuration: hosts = [\"…\"]");
  }
  const auto origin = header_of(request, "origin");
  if (origin && !equals_ignoring_case(authority_of(*origin), host)) {
    return error_response(403, "foreign_origin",
                          "pages of " + printable(*origin) + " may not ask here",
                          "open the page of this server itself");
  }
  return refused_posting(request);
}

}  // namespace berth::serve
