#include "app/serve_page.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "app/verb.h"
#include "base/fd.h"
#include "base/json_archive.h"
#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"
#include "serve/http_client.h"

namespace berth {

void say_where(const Context& context, const std::vector<serve::Address>& addresses, bool with_tls,
               const std::string& socket) {
  for (const serve::Address& address : addresses) {
    const bool is_https = with_tls && !serve::is_loopback(address);
    complain(trf("serving at {}://{}", is_https ? "https" : "http", serve::as_text(address)));
    if (!serve::is_loopback(address) && !is_https) {
      complain(
          tr("tokens travel in the clear there: give --tls-cert and --tls-key, or put a proxy "
             "in front"));
    }
  }
  if (!socket.empty()) complain(trf("serving at {}", socket));
  if (context.replay()) {
    complain(trf("REPLAYED: {}: not what this machine does now", printable(*context.replay())));
  }
  if (context.sources().simulated) {
    complain(trf("SIMULATED: {}", printable(*context.sources().simulated)));
  }
}

std::string page_address(const std::vector<serve::Address>& addresses, bool with_tls) {
  if (addresses.empty()) return {};
  const auto near = std::ranges::find_if(addresses, serve::is_loopback);
  serve::Address address = near == addresses.end() ? addresses.front() : *near;
  const bool is_https = with_tls && !serve::is_loopback(address);
  if (address.host == "0.0.0.0" || address.host == "::") address.host = "localhost";
  return (is_https ? "https://" : "http://") + serve::as_text(address) + "/";
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

Result<std::string> ask_for_link(Context& context, const std::string& socket) {
  if (socket.empty()) {
    return fail(ErrorCode::not_found,
                "a link is asked for at the server's Unix socket, and --socket says none");
  }
  auto url = serve::parse_url("unix:" + socket + ":/api/v1/sign-in-links");
  if (!url) return std::unexpected(std::move(url).error());
  auto reply =
      serve::ask_and_wait({.method = serve::Method::post,
                           .url = std::move(*url),
                           .headers = {{"content-type", "application/json"}, {"x-berth", "1"}},
                           .body = "{}"},
                          context.clock());
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

}  // namespace berth
