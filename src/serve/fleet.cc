#include "serve/fleet.h"

#include <algorithm>
#include <utility>

#include "base/fd.h"
#include "base/text.h"

namespace berth::serve {

namespace {

constexpr Duration patience_to_connect = std::chrono::seconds(2);
constexpr Duration patience_for_answer = std::chrono::seconds(5);
/// For one command, which may have as few as 1024 descriptors.
constexpr std::size_t most_at_once = 256;

/// The one line of the file.
Result<std::string> read_token(const std::string& path) {
  constexpr std::size_t longest = 4096;
  auto text = read_file(path, longest);
  if (!text) return text;
  const std::string token(trimmed(*text));
  if (token.empty() || printable(token) != token || token.find(' ') != std::string::npos) {
    return fail(ErrorCode::invalid, "{} holds no token", path);
  }
  return token;
}

/// Empty: it has none.
Result<std::string> token_of(const FleetMember& member) {
  if (member.token_file.empty()) return std::string();
  return read_token(member.token_file);
}

HttpCall call_for(const FleetMember& member, const std::string& token) {
  HttpCall call;
  call.url = member.url;
  call.url.target += "/api/v1/overview";
  call.tls = member.tls;
  call.headers = {{"accept", "application/json"}};
  if (!token.empty()) call.headers.emplace_back("authorization", "Bearer " + token);
  call.patience_to_connect = patience_to_connect;
  call.patience = patience_for_answer;
  return call;
}

}  // namespace

Fleet::Fleet(Loop& loop, Clock& clock) : loop_(loop), clock_(clock), client_(loop, clock) {}

Fleet::~Fleet() { *alive_ = false; }

Fleet::Member Fleet::welcomed(FleetMember member, const std::vector<Member>& before) {
  Member server;
  server.member = std::move(member);
  server.host.report = std::make_shared<const HostReport>(unasked(server.member));
  for (const Member& old : before) {
    if (old.member == server.member && old.may_be_asked) server = old;
  }
  auto token = token_of(server.member);
  server.may_be_asked = token.has_value();
  server.token = token.value_or("");
  if (token) return server;
  server.host = {.report = std::make_shared<const HostReport>(
                     report_without_token(server.member, token.error())),
                 .is_up = false};
  return server;
}

void Fleet::join(std::vector<FleetMember> members, PollRules rules) {
  ++joined_;
  client_.forget_certificates();
  std::vector<Member> servers;
  std::vector<std::string> names;
  for (FleetMember& member : members) {
    names.push_back(member.name);
    servers.push_back(welcomed(std::move(member), servers_));
  }
  servers_ = std::move(servers);
  rules_ = rules;
  turns_ = PollSchedule(rules, names, clock_.now());
  turn();
}

std::shared_ptr<const FleetView> Fleet::view() const {
  if (servers_.empty()) return nullptr;
  auto view = std::make_shared<FleetView>();
  for (const Member& server : servers_) view->hosts.push_back(server.host);
  return view;
}

void Fleet::turn() {
  for (const std::size_t which : turns_.take_due(clock_.now())) ask(which);
  const auto next = turns_.next();
  if (!next) return;
  const Duration wait = std::max(*next - clock_.now(), Duration{0});
  loop_.after(wait, [this, alive = alive_, number = ++timer_] {
    if (*alive && number == timer_) turn();
  });
}

void Fleet::ask(std::size_t which) {
  const Member& server = servers_[which];
  // Its file is read again when the configuration is.
  if (!server.may_be_asked) return turns_.answered(which, PollSchedule::Went::badly, clock_.now());
  HttpCall call = call_for(server.member, server.token);
  if (server.host.report->seen && !server.etag.empty()) {
    call.headers.emplace_back("if-none-match", server.etag);
  }
  client_.ask(std::move(call), [this, which, joined = joined_,
                                asked = clock_.wall_now()](const Result<HttpReply>& answer) {
    // The client, and this with it, ends before the fleet does.
    if (joined == joined_) received(which, answer, asked);
  });
}

void Fleet::received(std::size_t which, const Result<HttpReply>& answer, WallTime asked) {
  Member& server = servers_[which];
  auto report = std::make_shared<HostReport>(
      report_after(*server.host.report, answer, asked, !server.token.empty()));
  if (answer) server.etag = std::string(header_of(*answer, "etag").value_or(""));
  const bool well = answer && report->seen.has_value();
  server.host.is_up = well;
  if (well) server.host.answered = clock_.now();
  server.host.report = std::move(report);
  turns_.answered(which, well ? PollSchedule::Went::well : PollSchedule::Went::badly, clock_.now());
  if (on_news_) on_news_();
  turn();
}

std::vector<HostReport> ask_once(const std::vector<FleetMember>& members, Duration patience,
                                 Clock& clock) {
  std::vector<HostReport> reports;
  for (const FleetMember& member : members) reports.push_back(unasked(member));
  Loop loop;
  HttpClient client(loop, clock);
  const Instant deadline = clock.now() + patience;
  std::size_t next = 0;
  std::size_t under_way = 0;
  // Each answer makes room for the next question; descriptors are not endless.
  std::function<void()> go_on = [&] {
    while (next < members.size() && under_way < most_at_once) {
      const std::size_t i = next++;
      const FleetMember& member = members[i];
      auto token = token_of(member);
      if (!token) {
        reports[i] = report_without_token(member, token.error());
        continue;
      }
      HttpCall call = call_for(member, *token);
      call.patience = std::max<Duration>(deadline - clock.now(), std::chrono::milliseconds(1));
      call.patience_to_connect = std::min(call.patience_to_connect, call.patience);
      ++under_way;
      client.ask(std::move(call), [&, i, with_token = !token->empty(),
                                   asked = clock.wall_now()](const Result<HttpReply>& answer) {
        reports[i] = report_after(reports[i], answer, asked, with_token);
        --under_way;
        go_on();
      });
    }
    if (under_way == 0) loop.stop();
  };
  // The clock may be one that shows how long it takes.
  std::function<void()> tick = [&] {
    static_cast<void>(clock.now());
    loop.after(std::chrono::milliseconds(100), tick);
  };
  loop.post([&] { go_on(); });
  tick();
  loop.run();
  return reports;
}

}  // namespace berth::serve
