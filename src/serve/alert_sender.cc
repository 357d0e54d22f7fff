#include "serve/alert_sender.h"

#include <utility>

#include "serve/alert_command.h"

namespace berth::serve {

namespace {

constexpr std::size_t most_answer_bytes = 64 << 10;  // its headers, and what comes before them

Result<void> verdict_on(const Result<HttpReply>& reply) {
  if (!reply) return std::unexpected(reply.error());
  if (reply->status >= 200 && reply->status < 300) return {};
  const std::string_view hint =
      reply->status >= 300 && reply->status < 400
          ? " (redirects are not followed: use the URL it leads to)"
      : reply->status == 401 || reply->status == 403 || reply->status == 404
          ? " (is the URL still right?)"
          : "";
  return fail(ErrorCode::io, "it answered {}{}", reply->status, hint);
}

}  // namespace

AlertSender::AlertSender(Loop& loop, Clock& clock, CommandPlace place)
    : loop_(loop), clock_(clock), place_(std::move(place)), client_(loop, clock) {}

AlertSender::~AlertSender() { *alive_ = false; }

void AlertSender::post(const AlertReceiver& receiver, std::string body, Done done) {
  auto url = parse_url(receiver.url);
  if (!url) {
    return loop_.post([done = std::move(done)] {
      done(fail(ErrorCode::invalid, "its URL cannot be used: look at url or url_file"));
    });
  }
  client_.ask(
      {.method = Method::post,
       .url = std::move(*url),
       .headers = {{"content-type", "application/json"}},
       .body = std::move(body),
       .tls = {.authority = receiver.authority},
       .patience_to_connect = receiver.patience,
       .patience = receiver.patience,
       .most_bytes = most_answer_bytes,
       // A receiver that says 200 has taken the message, whatever it says after that. Else it would
       // be told again for ever.
       .wanted = WantedOfReply::status},
      [done = std::move(done)](const Result<HttpReply>& reply) { done(verdict_on(reply)); });
}

void AlertSender::send(const AlertReceiver& receiver, const AlertMessage& message, Done done) {
  auto while_alive = [alive = alive_, done = std::move(done)](const Result<void>& how) {
    if (*alive) done(how);
  };
  switch (receiver.kind) {
    case AlertReceiver::Kind::webhook:
      return post(receiver, to_json(message), std::move(while_alive));
    case AlertReceiver::Kind::command: {
      std::vector<std::string> environment = place_.environment;
      for (std::string& variable : variables_of(message)) {
        environment.push_back(std::move(variable));
      }
      return run_alert_command(loop_, clock_,
                               {.command = receiver.command,
                                .environment = std::move(environment),
                                .search_path = place_.search_path,
                                .input = to_json(message),
                                .patience = receiver.patience},
                               std::move(while_alive));
    }
  }
}

}  // namespace berth::serve
