#include "app/server_paths.h"

#include <unistd.h>

#include <utility>
#include <vector>

#include "app/output.h"
#include "app/past_runs.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"
#include "base/tr.h"
#include "health/health.h"
#include "probe/sim/motion.h"
#include "serve/http_client.h"
#include "serve/news.h"

namespace berth {

namespace {

constexpr const char* sockets_of_all = "/run/berth-serve/";

constexpr const char* socket_of_simulated = "serve-simulated.sock";

/// What is not this machine never answers in its place.
std::string socket_name(const Context& context) {
  if (context.sources().simulated) return socket_of_simulated;
  return context.replay() ? "serve-replayed.sock" : "serve.sock";
}

/// A directory that the environment names with a whole path.
std::optional<std::string> directory_in(const Context& context, const char* name) {
  auto value = context.variable(name);
  return value && value->starts_with('/') ? value : std::nullopt;
}

std::vector<std::string> settings_candidates(const Context& context) {
  std::vector<std::string> candidates;
  if (const auto own = context.config_directory()) candidates.push_back(*own + "/serve.toml");
  candidates.push_back(context.machine_configuration() + "/serve.toml");
  return candidates;
}

/// URLs of webhooks that stand in files of their own. The error does not repeat them.
Result<void> read_urls(serve::Settings& settings) {
  for (serve::AlertReceiver& receiver : settings.alerts.receivers) {
    if (receiver.url_file.empty()) continue;
    const auto text = read_file(receiver.url_file, 1 << 16);
    if (!text) return std::unexpected(Error(text.error()).because("alerts.webhook.url_file"));
    auto url = serve::webhook_url(*text);
    if (!url) return std::unexpected(std::move(url).error().at(receiver.url_file));
    receiver.url = std::move(*url);
  }
  return {};
}

/// The usual place of a server of that name; empty: there is none.
std::string usual_place(const Context& context, const std::string& name) {
  if (::geteuid() == 0) return sockets_of_all + name;
  if (const auto runtime = directory_in(context, "XDG_RUNTIME_DIR")) {
    return *runtime + "/berth/" + name;
  }
  const auto state = context.state_directory();
  return state ? *state + "/" + name : std::string();
}

std::vector<std::string> usual_places(const Context& context, const std::string& name) {
  std::vector<std::string> sockets;
  if (std::string own = usual_place(context, name); !own.empty()) sockets.push_back(std::move(own));
  const std::string of_all = sockets_of_all + name;
  if (sockets.empty() || sockets.front() != of_all) sockets.push_back(of_all);
  return sockets;
}

}  // namespace

std::optional<std::string> server_state_directory(const Context& context) {
  if (::geteuid() == 0 && !directory_in(context, "XDG_STATE_HOME")) return context.machine_state();
  return context.state_directory();
}

std::optional<std::string> hours_file(const Context& context) {
  const PolicyPlaces places = context.policy_places();
  const bool is_tested = context.other_etc().has_value();
  const bool is_machines = server_state_directory(context).value_or("") + "/hours" == places.hours;
  const bool counts = is_tested || (is_machines && !context.sources().simulated);
  return counts && ::geteuid() == places.owner ? std::optional(places.hours) : std::nullopt;
}

std::string token_file(const std::string& state_directory) {
  return state_directory + "/serve-tokens.json";
}

std::string server_socket(const Context& context) {
  return usual_place(context, socket_name(context));
}

std::vector<std::string> server_sockets(const Context& context) {
  return usual_places(context, socket_name(context));
}

std::vector<std::string> server_sockets(const Context& context, const serve::Settings& settings) {
  std::vector<std::string> sockets = server_sockets(context);
  if (settings.socket) sockets.insert(sockets.begin(), *settings.socket);
  std::erase_if(sockets, [](const std::string& socket) {
    return socket.empty() || ::access(socket.c_str(), F_OK) != 0;
  });
  return sockets;
}

std::vector<std::string> simulated_server_sockets(const Context& context) {
  return usual_places(context, socket_of_simulated);
}

Result<std::string> ask_server(Context& context, const std::string& socket, std::string target,
                               Duration patience) {
  serve::HttpCall call;
  call.url.kind = serve::Url::Kind::unix_socket;
  call.url.host = "localhost";
  call.url.socket = socket;
  call.url.target = std::move(target);
  call.patience = patience;
  auto reply = serve::ask_and_wait(std::move(call), context.clock());
  if (!reply) return std::unexpected(std::move(reply).error());
  if (reply->status == 200) return std::move(reply->body);
  return fail(ErrorCode::io, "{} answered {}", socket, reply->status);
}

std::vector<serve::StateDirectory> record_directories(const Context& context,
                                                      std::string_view passwd) {
  std::vector<serve::StateDirectory> all;
  if (auto own = place_of_runs(context)) all.push_back({.path = *std::move(own)});
  if (::geteuid() != 0) return all;
  const std::string below = context.variable("BERTH_HOMES").value_or("");
  for (serve::StateDirectory& one : serve::state_directories_of_all(passwd)) {
    one.path.insert(0, below);
    if (all.empty() || one.path != all.front().path) all.push_back(std::move(one));
  }
  return all;
}

serve::CommandPlace command_place(const Context& context) {
  serve::CommandPlace place;
  for (std::string& variable : context.environment()) {
    const bool is_systemds =
        variable.starts_with("NOTIFY_SOCKET=") || variable.starts_with("WATCHDOG_");
    if (!is_systemds) place.environment.push_back(std::move(variable));
  }
  place.search_path = context.search_path();
  return place;
}

void complain_of_unknown(const serve::Settings& settings, const std::string& read_from) {
  for (const std::string& key : settings.unknown) {
    complain(trf("{} says {}, which this berth does not know and leaves out", printable(read_from),
                 key));
  }
}

Result<serve::Settings> read_settings(const Context& context, const std::string& named,
                                      std::string& read_from) {
  const std::vector<std::string> candidates =
      named.empty() ? settings_candidates(context) : std::vector<std::string>{named};
  for (const std::string& path : candidates) {
    const auto text = read_file(path);
    if (!text && named.empty() && text.error().code() == ErrorCode::not_found) continue;
    if (!text) return std::unexpected(text.error());
    auto settings = serve::parse_settings(*text);
    if (!settings) return std::unexpected(std::move(settings).error().at(path));
    if (const auto read = read_urls(*settings); !read) {
      return std::unexpected(Error(read.error()).at(path));
    }
    read_from = path;
    return settings;
  }
  read_from.clear();
  return serve::Settings();
}

HistoryStore::Past simulated_past(const Context& context) {
  auto scenario = scenario_with_past(context);
  if (!scenario) return {};
  std::optional<std::vector<DeviceHealth>> before;
  return [&context, known = *std::move(scenario), has_runs = false, before](WallTime at) mutable {
    if (!std::exchange(has_runs, true)) write_past_runs(context);
    HistoryStore::PastLook look(sim::scenario_at(known, at));
    std::vector<DeviceHealth> health = health_of(look.snapshot);
    for (const auto& news : serve::health_news(before.value_or(health), health, at)) {
      if (auto event = serve::event_of(news)) look.events.push_back(*std::move(event));
    }
    before = std::move(health);
    return look;
  };
}

}  // namespace berth
