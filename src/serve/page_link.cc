#include "serve/page_link.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/fd.h"
#include "base/json_archive.h"
#include "base/sentence.h"
#include "base/text.h"
#include "serve/http_client.h"

namespace berth::serve {

std::string page_address(const std::vector<Address>& addresses, bool with_tls) {
  if (addresses.empty()) return {};
  const auto near = std::ranges::find_if(addresses, is_loopback);
  Address address = near == addresses.end() ? addresses.front() : *near;
  const bool is_https = with_tls && !is_loopback(address);
  if (address.host == "0.0.0.0" || address.host == "::") address.host = "localhost";
  return (is_https ? "https://" : "http://") + as_text(address) + "/";
}

LinkFile::~LinkFile() {
  if (!path_.empty()) static_cast<void>(::unlink(path_.c_str()));
}

Result<std::string> LinkFile::write(const std::string& directory, const std::string& link) {
  if (auto made = make_directories(directory, 0700); !made) {
    return std::unexpected(std::move(made).error());
  }
  std::string path = fmt::format("{}/open-{}.html", directory, ::getpid());
  // A link has no character that HTML or a URL would take for its own.
  const auto written = write_file_atomically(
      path,
      fmt::format("<!doctype html><meta charset=utf-8><meta name=referrer content=no-referrer>"
                  "<title>berth</title><meta http-equiv=refresh content=\"0;url={}\">\n",
                  link),
      0600);
  if (!written) return std::unexpected(written.error());
  path_ = std::move(path);
  return "file://" + path_;
}

Result<std::string> ask_for_link(const std::string& socket, Clock& clock) {
  if (socket.empty()) {
    return fail(ErrorCode::not_found,
                "a link is asked for at the server's Unix socket, and --socket says none");
  }
  auto url = parse_url("unix:" + socket + ":/api/v1/sign-in-links");
  if (!url) return std::unexpected(std::move(url).error());
  auto reply = ask_and_wait({.method = Method::post,
                             .url = std::move(*url),
                             .headers = {{"content-type", "application/json"}, {"x-berth", "1"}},
                             .body = "{}"},
                            clock);
  if (!reply) {
    return std::unexpected(
        std::move(reply).error().because(sentence("asking {}", printable(socket))));
  }
  std::string link;
  const auto read = read_json(
      reply->body, [&](Archive& archive) { archive.member("url", link, Form::required); });
  if (reply->status != 200 || !read) {
    return fail(ErrorCode::unsupported,
                "the server at {} makes no links: it answered {}; is it an older berth?",
                printable(socket), reply->status);
  }
  return link;
}

}  // namespace berth::serve
