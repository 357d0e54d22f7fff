// ask_url URL [connect MS] [all MS] [bytes N] [ca FILE] [certificate FILE] [key FILE] [post BODY]
// [header NAME:VALUE] [times N].
//
// Asks, and prints one line of JSON: {"status","headers","body"} or {"code","error"}. "ms" says how
// long it took. `times`: as many requests at once; a line for each.

#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/text.h"
#include "serve/http_client.h"

namespace {

using namespace berth;
using namespace berth::serve;

Duration ms_of(std::string_view text) {
  return std::chrono::milliseconds(parse_unsigned(text).value_or(0));
}

nlohmann::json as_json(const Result<HttpReply>& reply) {
  if (!reply) return {{"code", name_of(reply.error().code())}, {"error", reply.error().message()}};
  nlohmann::json json = {{"status", reply->status}, {"body", reply->body}};
  for (const auto& [name, value] : reply->headers) json["headers"][name] = value;
  return json;
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) return 2;
  auto url = parse_url(words[1]);
  if (!url) {
    std::cout << as_json(std::unexpected(url.error())).dump() << "\n";
    return 0;
  }
  HttpCall call;
  call.url = *url;
  std::uint64_t times = 1;
  for (int i = 2; i + 1 < count; i += 2) {
    const std::string_view what = words[i];
    const std::string_view value = words[i + 1];
    if (what == "connect") call.patience_to_connect = ms_of(value);
    if (what == "all") call.patience = ms_of(value);
    if (what == "bytes") call.most_bytes = parse_unsigned(value).value_or(0);
    if (what == "ca") call.tls.authority = value;
    if (what == "certificate") call.tls.certificate = value;
    if (what == "key") call.tls.key = value;
    if (what == "post") call.method = Method::post, call.body = value;
    if (what == "header")
      call.headers.emplace_back(value.substr(0, value.find(':')),
                                value.substr(value.find(':') + 1));
    if (what == "times") times = parse_unsigned(value).value_or(1);
  }
  SystemClock clock;
  Loop loop;
  HttpClient client(loop, clock);
  std::uint64_t left = times;
  const Instant began = clock.now();
  for (std::uint64_t i = 0; i < times; ++i) {
    client.ask(call, [&](const Result<HttpReply>& reply) {
      nlohmann::json json = as_json(reply);
      json["ms"] =
          std::chrono::duration_cast<std::chrono::milliseconds>(clock.now() - began).count();
      std::cout << json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
      if (--left == 0) loop.stop();
    });
  }
  loop.run();
  return 0;
}
