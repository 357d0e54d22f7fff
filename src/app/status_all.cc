#include "app/status_all.h"

#include <algorithm>
#include <utility>

#include "app/serve_places.h"
#include "app/verb.h"
#include "base/text.h"
#include "base/tr.h"
#include "serve/api.h"
#include "serve/fleet.h"
#include "view/fleet_text.h"

namespace berth {

namespace {

constexpr std::chrono::seconds patience{3};

/// This machine as another berth would be told of it.
Result<HostReport> own_report(Context& context) {
  auto snapshot = context.look(Depth::everything);
  if (!snapshot) return std::unexpected(std::move(snapshot).error());
  serve::RequestContext request_context;
  request_context.now = snapshot->taken;
  request_context.snapshot = std::make_shared<const Snapshot>(*std::move(snapshot));
  serve::Principal principal;
  principal.admin = true;  // whoever looks himself sees what he sees
  auto overview = parse_overview(serve::overview_json(principal, request_context));
  if (!overview) return std::unexpected(std::move(overview).error());
  HostReport report;
  report.name = request_context.snapshot->host.name.get().value_or(std::string(tr("this server")));
  report.state = HostState::ok;
  report.asked = report.taken = overview->taken;
  report.seen = *std::move(overview);
  return report;
}

/// Those that a server which runs here has joined; nothing: none runs, or it has joined nobody.
std::optional<std::vector<HostReport>> hosts_of_server(Context& context,
                                                       const serve::Settings& settings) {
  std::vector<std::string> sockets = server_sockets(context);
  if (settings.socket) sockets.insert(sockets.begin(), *settings.socket);
  for (const std::string& socket : sockets) {
    serve::HttpCall call;
    call.url.kind = serve::Url::Kind::unix_socket;
    call.url.host = "localhost";
    call.url.socket = socket;
    call.url.target = "/api/v1/hosts?limit=10000";
    call.patience = patience;
    const auto reply = serve::ask_and_wait(std::move(call), context.clock());
    if (!reply || reply->status != 200) continue;
    auto hosts = parse_hosts(reply->body);
    if (hosts && !hosts->empty()) return *std::move(hosts);
  }
  return std::nullopt;
}

Result<std::vector<HostReport>> others(Context& context, const StatusAll& wanted) {
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
                std::string(tr("no other server is known: name them with --join or --join-file, or "
                               "under [join] in serve.toml")));
  }
  return serve::ask_once(*members, patience, context.clock());
}

}  // namespace

int show_all(Context& context, const StatusAll& wanted) {
  if (wanted.json) set_language(Language::english);
  auto here = own_report(context);
  if (!here) return report(here.error());
  auto all = others(context, wanted);
  if (!all) return report(all.error(), exit_code::usage);
  all->insert(all->begin(), *std::move(here));
  print(wanted.json ? fleet_json(*all) : render_fleet(*all, context.out()));
  const bool all_answered = std::all_of(
      all->begin(), all->end(), [](const HostReport& host) { return host.state == HostState::ok; });
  return all_answered ? exit_code::ok : exit_code::failed;
}

}  // namespace berth
