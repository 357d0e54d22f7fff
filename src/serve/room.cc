#include "serve/room.h"

#include <algorithm>
#include <utility>

#include "base/fd.h"
#include "base/text.h"

namespace berth::serve {

namespace {

constexpr Duration patience_to_connect = std::chrono::seconds(2);
constexpr Duration patience_for_answer = std::chrono::seconds(5);
/// Of one command, which may have as few as 1024 descriptors.
constexpr std::size_t most_at_once = 256;

/// The one line of the file.
Result<std::string> read_token(const std::string& path) {
  constexpr std::size_t longest = 4096;
  auto text = read_file(path, longest);
  if (!text) return text;
  const std::string token(trimmed(*text));
  if (token.empty() || printable(token) != token || token.find(' ') != std::string::npos) {
    return fail(ErrorCode::invalid, path + " holds no token");
  }
  return token;
}

/// Empty: it has none.
Result<std::string> token_of(const RoomMember& member) {
  if (member.token_file.empty()) return std::string();
  return read_token(member.token_file);
}

HttpCall call_for(const RoomMember& member, const std::string& token) {
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

Room::Room(Loop& loop, Clock& clock) : loop_(loop), clock_(clock), client_(loop, clock) {}

Room::~Room() { *alive_ = false; }

Room::Guest Room::welcomed(RoomMember member, const std::vector<Guest>& before) {
  Guest guest;
  guest.member = std::move(member);
  guest.host.report = std::make_shared<const HostReport>(unasked(guest.member));
  for (const Guest& old : before) {
    if (old.member == guest.member && old.may_be_asked) guest = old;
  }
  auto token = token_of(guest.member);
  guest.may_be_asked = token.has_value();
  guest.token = token.value_or("");
  if (token) return guest;
  guest.host = {.report = std::make_shared<const HostReport>(
                    report_without_token(guest.member, token.error())),
                .answered = {},
                .is_up = false,
                .answered_ever = false};
  return guest;
}

void Room::join(std::vector<RoomMember> members, TurnRules rules) {
  ++joined_;
  client_.forget_certificates();
  std::vector<Guest> guests;
  std::vector<std::string> names;
  for (RoomMember& member : members) {
    names.push_back(member.name);
    guests.push_back(welcomed(std::move(member), guests_));
  }
  guests_ = std::move(guests);
  rules_ = rules;
  turns_ = RoomTurns(rules, names, clock_.now());
  turn();
}

std::shared_ptr<const RoomView> Room::view() const {
  if (guests_.empty()) return nullptr;
  auto view = std::make_shared<RoomView>();
  for (const Guest& guest : guests_) view->hosts.push_back(guest.host);
  return view;
}

void Room::turn() {
  for (const std::size_t which : turns_.take_due(clock_.now())) ask(which);
  const auto next = turns_.next();
  if (!next) return;
  const Duration wait = std::max(*next - clock_.now(), Duration{0});
  loop_.after(wait, [this, alive = alive_, number = ++timer_] {
    if (*alive && number == timer_) turn();
  });
}

void Room::ask(std::size_t which) {
  const Guest& guest = guests_[which];
  // Its file is read again when the configuration is.
  if (!guest.may_be_asked) return turns_.answered(which, RoomTurns::Went::badly, clock_.now());
  HttpCall call = call_for(guest.member, guest.token);
  if (guest.host.report->seen && !guest.etag.empty()) {
    call.headers.emplace_back("if-none-match", guest.etag);
  }
  client_.ask(std::move(call), [this, which, joined = joined_,
                                asked = clock_.wall_now()](const Result<HttpReply>& answer) {
    // The client, and this with it, ends before the room does.
    if (joined == joined_) received(which, answer, asked);
  });
}

void Room::received(std::size_t which, const Result<HttpReply>& answer, WallTime asked) {
  Guest& guest = guests_[which];
  auto report = std::make_shared<HostReport>(
      report_after(*guest.host.report, answer, asked, !guest.token.empty()));
  if (answer) guest.etag = std::string(header_of(*answer, "etag").value_or(""));
  const bool well = answer && report->seen.has_value();
  guest.host.is_up = well;
  if (well) {
    guest.host.answered = clock_.now();
    guest.host.answered_ever = true;
  }
  guest.host.report = std::move(report);
  turns_.answered(which, well ? RoomTurns::Went::well : RoomTurns::Went::badly, clock_.now());
  if (on_news_) on_news_();
  turn();
}

std::vector<HostReport> ask_once(const std::vector<RoomMember>& members, Duration patience,
                                 Clock& clock) {
  std::vector<HostReport> reports;
  for (const RoomMember& member : members) reports.push_back(unasked(member));
  Loop loop;
  HttpClient client(loop, clock);
  const Instant deadline = clock.now() + patience;
  std::size_t next = 0;
  std::size_t under_way = 0;
  // Each answer makes room for the next question; descriptors are not endless.
  std::function<void()> go_on = [&] {
    while (next < members.size() && under_way < most_at_once) {
      const std::size_t i = next++;
      const RoomMember& member = members[i];
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
  loop.post([&] { go_on(); });
  loop.run();
  return reports;
}

}  // namespace berth::serve
