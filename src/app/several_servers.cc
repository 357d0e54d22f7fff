#include "app/several_servers.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "app/output.h"
#include "app/progress.h"
#include "app/server_paths.h"
#include "app/terminal.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/tr.h"
#include "serve/api.h"
#include "serve/fleet.h"
#include "view/fleet_text.h"
#include "view/refresh.h"

namespace berth {

namespace {

constexpr std::chrono::seconds patience{3};

/// This machine as another berth would be told of it.
Result<HostReport> own_report(Context& context) {
  auto snapshot = context.look(Depth::everything);
  if (!snapshot) return std::unexpected(std::move(snapshot).error());
  return HostReport{.name = snapshot->host.name.get().value_or(std::string(tr("this server"))),
                    .state = HostState::ok,
                    .asked = snapshot->taken,
                    .seen = serve::overview_of(*snapshot),
                    .taken = snapshot->taken};
}

/// The servers that a server running here has joined. Nothing: none runs, or it has joined nobody.
std::optional<std::vector<HostReport>> hosts_of_server(Context& context,
                                                       const serve::Settings& settings) {
  for (const std::string& socket : server_sockets(context, settings)) {
    const auto body = ask_server(context, socket, "/api/v1/hosts?limit=10000", patience);
    if (!body) continue;
    auto hosts = parse_hosts(*body);
    if (hosts && !hosts->empty()) return *std::move(hosts);
  }
  return std::nullopt;
}

Result<std::vector<HostReport>> others(Context& context, const SeveralServers& wanted,
                                       Clock& clock) {
  serve::JoinSettings join;
  if (wanted.join.empty() && wanted.join_file.empty()) {
    std::string read_from;
    auto settings = read_settings(context, "", read_from);
    if (!settings) return std::unexpected(std::move(settings).error());
    if (auto hosts = hosts_of_server(context, *settings)) return *std::move(hosts);
    join = std::move(settings->join);
  }
  for (const std::string_view one : split(wanted.join, ',')) {
    if (!trimmed(one).empty()) join.hosts.emplace_back(trimmed(one));
  }
  if (!wanted.join_file.empty()) join.file = wanted.join_file;
  auto members = serve::members_of(join);
  if (!members) return std::unexpected(std::move(members).error());
  if (members->empty()) {
    return fail(ErrorCode::invalid,
                "no other server is known: name them with --join or --join-file, or under [join] "
                "in serve.toml");
  }
  return serve::ask_once(*members, patience, clock);
}

Result<std::vector<HostReport>> all_servers(Context& context, const SeveralServers& wanted,
                                            Clock& clock) {
  auto here = own_report(context);
  if (!here) return std::unexpected(std::move(here).error());
  auto all = others(context, wanted, clock);
  if (!all) return std::unexpected(std::move(all).error());
  all->insert(all->begin(), *std::move(here));
  return *std::move(all);
}

/// A terminal whose keys are read, as `berth top` reads them. Else a text that is written anew.
class RefreshedScreen {
 public:
  explicit RefreshedScreen(bool reads_keys) {
    if (!reads_keys) return;
    auto opened = Terminal::open();
    if (!opened) return;
    terminal_.emplace(*std::move(opened));
    if (!terminal_->enter()) terminal_.reset();
  }

  void show(std::string text) {
    if (!terminal_) return print(text);
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) {
      text.insert(at, 1, '\r');  // such a terminal does not go back by itself
    }
    terminal_->write(text);
  }

  /// Until then, or until somebody leaves: true.
  bool wait_until(Instant deadline, Clock& clock) {
    if (!terminal_) {
      InterruptNote::wait_until(deadline, clock);
      return false;
    }
    while (InterruptNote::signal() == 0) {
      const Duration left = deadline - clock.now();
      if (left <= Duration(0)) return false;
      if (!wait_readable({Terminal::input()}, left).front()) continue;
      const auto typed = terminal_->read();
      if (!typed || typed->find_first_of("qQ\x03") != std::string::npos) return true;
    }
    return true;
  }

 private:
  std::optional<Terminal> terminal_;
};

}  // namespace

int watch_servers(Context& context, const SeveralServers& wanted, std::chrono::milliseconds every,
                  Keys keys) {
  const InterruptNote interrupt;
  RefreshedScreen screen(keys == Keys::read);
  std::optional<std::string> before;
  int width_before = context.out().width;
  Instant next = context.clock().now();
  while (InterruptNote::signal() == 0) {
    const auto all = all_servers(context, wanted, context.clock());
    if (!all) return report(all.error(), exit_code::usage);
    const Style style = context.out_now();
    const std::string text = render_fleet(*all, style);
    if (std::exchange(width_before, style.width) != style.width) before.reset();
    if (context.stdout_moves()) {
      const std::string picture = fit_to_height(text, context.terminal_rows(), style);
      screen.show(redraw(picture, before));
      before = picture;
    } else {
      print(text + "\n");
    }
    if (!finish_output()) return exit_code::failed;
    next = std::max(next + every, context.clock().now());
    if (screen.wait_until(next, context.clock())) break;
  }
  return exit_code::ok;
}

int show_servers(Context& context, const SeveralServers& wanted, bool as_json) {
  const auto asked = [&] {
    ProgressClock clock(context, std::string(tr("asking the other servers")), patience);
    return all_servers(context, wanted, clock);
  };
  const auto all = asked();
  if (!all) return report(all.error(), exit_code::usage);
  print(as_json ? fleet_json(*all) : render_fleet(*all, context.out()));
  const bool all_answered = std::all_of(
      all->begin(), all->end(), [](const HostReport& host) { return host.state == HostState::ok; });
  return all_answered ? exit_code::ok : exit_code::failed;
}

}  // namespace berth
