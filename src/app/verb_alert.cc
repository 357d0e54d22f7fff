// `berth alert`: active alerts, their rules, and a test of the notifications.

#include <unistd.h>

#include <utility>

#include "alert/rule_matches.h"
#include "app/server_paths.h"
#include "app/verb.h"
#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"
#include "serve/alert_message.h"
#include "serve/alert_sender.h"
#include "view/alert_text.h"

namespace berth {

namespace {

constexpr const char* alerts_target = "/api/v1/alerts?limit=10000";

class AlertVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.word("action", action_, "list (without a word), rules, or test: tell every receiver");
    options.flag("--json", json_, "as JSON");
    options.filled_value("--socket", socket_, "the Unix socket of the server to ask (list)",
                         "PATH");
    options.filled_value("--config", config_,
                         "instead of ~/.config/berth/serve.toml or /etc/berth/serve.toml", "FILE");
  }

  int run(Context& context, const std::vector<std::string>& rest) override {
    if (!rest.empty() ||
        (!action_.empty() && action_ != "list" && action_ != "rules" && action_ != "test")) {
      complain(tr("alert: berth alert [list], berth alert rules, berth alert test"));
      return exit_code::usage;
    }
    std::string read_from;
    const auto settings = read_settings(context, config_, read_from);
    if (!settings) return report(settings.error());
    complain_of_unknown(*settings, read_from);
    const serve::AlertPlan& plan = settings->alerts;
    if (action_ == "rules") {
      print(json_ ? alert_rules_json(plan.rules) : render_alert_rules(plan.rules, context.out()));
      return exit_code::ok;
    }
    if (action_ == "test") return test(context, plan);
    return list(context, *settings);
  }

 private:
  // ---------------------------------------------------------------------------------------- list

  static Result<AlertList> list_in(Context& context, const std::string& body,
                                   const std::string& socket) {
    auto list = serve::alert_list_from_json(body);
    if (!list) return std::unexpected(std::move(list).error().at(socket));
    list->now = context.clock().wall_now();
    return list;
  }

  /// Nothing: no server is asked, or none is there that watches what is looked at here.
  Result<std::optional<AlertList>> list_of_server(Context& context,
                                                  const serve::Settings& settings) const {
    if (!socket_.empty()) {
      const auto body = ask_server(context, socket_, alerts_target);
      if (!body) return std::unexpected(body.error());
      return list_in(context, *body, socket_);
    }
    // Which recording a server plays is not in its answer.
    if (context.replay()) return std::nullopt;
    for (const std::string& socket : server_sockets(context, settings)) {
      const auto body = ask_server(context, socket, alerts_target);
      if (!body) continue;  // what a dead server left
      auto list = list_in(context, *body, socket);
      // A server of another machine than is looked at here never answers in its place.
      if (!list || list->simulated == context.sources().simulated) return list;
    }
    return std::nullopt;
  }

  /// Nobody answered: a simulated server that runs here may be the one that was meant.
  static void tell_of_simulated(Context& context) {
    if (context.replay()) return;
    for (const std::string& socket : simulated_server_sockets(context)) {
      if (socket.empty() || ::access(socket.c_str(), F_OK) != 0) continue;
      const auto body = ask_server(context, socket, alerts_target);
      const auto list = body ? list_in(context, *body, socket) : fail(ErrorCode::io, "");
      if (!list || !list->simulated) continue;
      complain(
          trf("a `berth serve` of a simulated server ({}) runs here; what it knows: berth "
              "alert --socket {}",
              *list->simulated, socket));
    }
  }

  static Result<AlertList> list_of_one_look(Context& context, const AlertSettings& rules) {
    const auto snapshot = context.look(Depth::details, Relations::all);
    if (!snapshot) return std::unexpected(snapshot.error());
    AlertList list{
        .is_of_server = false, .now = context.clock().wall_now(), .simulated = snapshot->simulated};
    const AlertLook look{.snapshot = *snapshot, .now = snapshot->taken};
    list.alerts = matches(look, rules).seen;
    for (Alert& alert : list.alerts) {
      alert.summary = Sentence(summary_with(alert.summary, user_names(alert)));
      alert.simulated = snapshot->simulated;
    }
    return list;
  }

  int list(Context& context, const serve::Settings& settings) const {
    auto of_server = list_of_server(context, settings);
    if (!of_server) return report(of_server.error());
    if (!*of_server) tell_of_simulated(context);
    auto list = *of_server ? Result<AlertList>(std::move(**of_server))
                           : list_of_one_look(context, settings.alerts.rules);
    if (!list) return report(list.error());
    print(json_ ? alerts_json(*list) : render_alerts(*list, context.out()));
    return exit_code::ok;
  }

  // ---------------------------------------------------------------------------------------- test

  int test(Context& context, const serve::AlertPlan& plan) const {
    if (plan.receivers.empty()) {
      complain(
          tr("nobody is told of alerts: name somebody in serve.toml, [[alerts.webhook]] or "
             "[[alerts.command]]"));
      return exit_code::failed;
    }
    serve::Loop loop;
    serve::AlertSender sender(loop, context.clock(), command_place(context));
    const auto snapshot = context.look(Depth::state);
    const std::string host =
        snapshot ? snapshot->host.name.get().value_or("an unnamed host") : "an unnamed host";
    const AlertMessage message =
        serve::test_message(host, context.sources().simulated, context.clock().wall_now());
    std::size_t left = plan.receivers.size();
    std::vector<std::optional<Error>> mistakes(left);
    for (std::size_t i = 0; i < plan.receivers.size(); ++i) {
      sender.send(plan.receivers[i], message, [&, i](const Result<void>& how) {
        if (!how) mistakes[i] = how.error();
        if (--left == 0) loop.stop();
      });
    }
    loop.run();
    return tell(plan, mistakes);
  }

  int tell(const serve::AlertPlan& plan, const std::vector<std::optional<Error>>& mistakes) const {
    bool all_went = true;
    std::string json;
    for (std::size_t i = 0; i < mistakes.size(); ++i) {
      const std::string& name = plan.receivers[i].name;
      all_went = all_went && !mistakes[i];
      if (json_) {
        json += serve::delivery_line(plan.receivers[i], mistakes[i]);
      } else if (mistakes[i]) {
        print(trf("{}: it did not arrive: {}", name, printable(mistakes[i]->shown())) + "\n");
      } else {
        print(trf("{}: it arrived", name) + "\n");
      }
    }
    if (json_) print(json);
    return all_went ? exit_code::ok : exit_code::failed;
  }

  std::string action_, socket_, config_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_alert() { return std::make_unique<AlertVerb>(); }

}  // namespace berth
