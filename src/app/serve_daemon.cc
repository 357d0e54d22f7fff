#include "app/serve_daemon.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <utility>

#include "app/live.h"
#include "app/output.h"
#include "app/past_runs.h"
#include "app/planned_start.h"
#include "app/run_judge.h"
#include "app/serve_page.h"
#include "app/server_paths.h"
#include "base/fd.h"
#include "base/process_stat.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/tr.h"
#include "health/health.h"
#include "serve/alert_watch.h"
#include "serve/fleet.h"
#include "serve/http_server.h"
#include "serve/kept_history.h"
#include "serve/metrics_keeper.h"
#include "serve/news.h"
#include "serve/page_link.h"
#include "serve/people_watch.h"
#include "serve/systemd.h"
#include "serve/tokens.h"
#include "serve/user_acts.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

using std::chrono::milliseconds, std::chrono::seconds;

constexpr seconds drain_patience{5};
constexpr std::size_t longest_mountinfo = 16 << 20;

std::optional<std::string> token_path(const Context& context) {
  const auto state = server_state_directory(context);
  return state ? std::optional(token_file(*state)) : std::nullopt;
}

class Daemon {
 public:
  Daemon(Context& context, ServePlan plan, std::optional<BrowserLater> browser, Live live,
         SignalQueue signals)
      : context_(context),
        plan_(std::move(plan)),
        browser_(std::move(browser)),
        live_(std::move(live)),
        signals_(std::move(signals)),
        handler_([](const std::string& text) { complain(printable(text)); }),
        acts_(place_of_runs(context)),
        metrics_(context.clock()),
        alerts_(loop_, context.clock(), context.sources().simulated, command_place(context),
                how_to_tell_alerts()),
        fleet_(loop_, context.clock()),
        tokens_(token_path(context)),
        history_(context.clock(), local_offset_at,
                 [this](const std::string& kind, const std::string& text) {
                   handler_.note(kind, text, context_.clock().now());
                 }) {}

  int run();

 private:
  void look();
  void follow_look();
  void seen(Snapshot snapshot);
  void see_anew();
  void tell_health();
  [[nodiscard]] serve::AlertWatch::Told how_to_tell_alerts();
  void open_alerts();
  void open_history();
  void check_history();
  void publish();
  void pulse();
  void read_signals();
  void reload();
  void follow_people();
  void apply(const serve::Settings& settings);
  [[nodiscard]] Result<void> join(const serve::JoinSettings& settings);
  void drain();
  void end_history();
  void tell_systemd(std::string_view state);
  void show_page();
  [[nodiscard]] serve::TokenStore tokens();

  Context& context_;
  ServePlan plan_;
  std::optional<BrowserLater> browser_;
  serve::LinkFile link_file_;
  Live live_;
  SignalQueue signals_;
  serve::Loop loop_;
  serve::RequestHandler handler_;
  serve::UserActs acts_;
  serve::RunSource runs_;
  RunJudge judge_{context_};
  serve::MetricsKeeper metrics_;
  serve::AlertWatch alerts_;
  serve::Fleet fleet_;
  serve::TokenWatch tokens_;
  serve::KeptHistory history_;
  std::optional<serve::HoursKeeper> hours_;  // root's alone
  std::optional<PlannedStarter> planned_;    // likewise
  serve::PeopleWatch people_;
  std::unique_ptr<serve::HttpServer> server_;
  std::shared_ptr<const Snapshot> newest_;
  std::shared_ptr<serve::ViewCache> views_;  // of the newest
  std::shared_ptr<const Snapshot> newest_with_details_;
  std::vector<DeviceHealth> health_;  // at the newest look
  std::uint64_t sequence_ = 0;
  Depth depth_ = Depth::details;
  Instant next_look_{};
  Instant look_began_{};
  Instant next_details_{};
  Instant published_{};
  Instant drained_{};  // when patience with what still goes on is over
  bool drains_ = false;
};

void Daemon::tell_systemd(std::string_view state) {
  const auto told = serve::notify(context_.variable("NOTIFY_SOCKET"), state);
  if (!told) handler_.note("systemd", told.error().message(), context_.clock().now());
}

// --------------------------------------------------------------------------------------- looking

void Daemon::look() {
  if (drains_) return;
  const Instant now = context_.clock().now();
  depth_ = now >= next_details_ ? Depth::details : Depth::everything;
  if (depth_ == Depth::details) {
    next_details_ = now + serve::details_interval(plan_.settings.interval);
  }
  next_look_ = std::max(next_look_ + plan_.settings.interval, now);
  look_began_ = now;
  live_.begin(depth_);
  follow_look();
}

void Daemon::follow_look() {
  if (auto snapshot = live_.advance()) {
    seen(std::move(*snapshot));
    const Duration wait = std::max(next_look_ - context_.clock().now(), Duration{0});
    return loop_.after(wait, [this] { look(); });
  }
  const auto news = live_.descriptor();
  const Duration patience = std::max<Duration>(live_.patience(), milliseconds(5));
  if (news) return loop_.when_readable(*news, patience, [this] { follow_look(); });
  loop_.after(milliseconds(5), [this] { follow_look(); });
}

void Daemon::seen(Snapshot snapshot) {
  // Takes only what was read now: a value of ten looks ago is no sample of this second.
  metrics_.seen(snapshot, context_.clock().now() - look_began_, has_driver_failed(snapshot));
  metrics_.set_probe(live_.probe_process());
  if (depth_ != Depth::details && newest_with_details_) {
    serve::add_details(*newest_with_details_, snapshot);
  }
  auto shared = std::make_shared<const Snapshot>(std::move(snapshot));
  if (depth_ == Depth::details) newest_with_details_ = shared;
  newest_ = std::move(shared);
  see_anew();
  tell_health();
  alerts_.seen(*newest_, live_.unanswered_since());
  history_.offer(newest_);
  if (++sequence_ == 1) tell_systemd("READY=1");
  publish();
}

/// What each may see is of one look, one policy and the people of now.
void Daemon::see_anew() {
  if (!newest_) return;
  views_ = std::make_shared<serve::ViewCache>(newest_, plan_.settings.visibility, people_.book());
}

/// As anybody may see it: what is announced and kept goes to all.
void Daemon::tell_health() {
  std::vector<DeviceHealth> health = health_of(*views_->of(serve::Principal()));
  for (const serve::HealthNews& news : serve::health_news(health_, health, newest_->taken)) {
    handler_.announce("health", to_json(news));
    if (auto event = serve::event_of(news)) history_.offer(*std::move(event));
  }
  health_ = std::move(health);
}

serve::AlertWatch::Told Daemon::how_to_tell_alerts() {
  return {.announce = [this](const Alert& alert) { handler_.announce(alert); },
          .note =
              [this](const std::string& kind, const std::string& text) {
                handler_.note(kind, text, context_.clock().now());
              },
          .dropped =
              [](const serve::DeliveryQueue::Dropped& one) {
                complain(
                    trf("{} is no longer told of alerts: messages dropped that had not arrived "
                        "there: {}",
                        printable(one.receiver), one.messages));
              }};
}

void Daemon::open_alerts() {
  alerts_.configure(plan_.settings.alerts, serve::details_interval(plan_.settings.interval));
  const auto directory = server_state_directory(context_);
  if (!directory) {
    return complain(tr("alerts are not kept over a restart: there is no home to keep them in"));
  }
  const serve::AlertStore::Opened opened = alerts_.open(*directory);
  if (opened.not_kept) {
    complain(trf("alerts are not kept over a restart: {}", opened.not_kept->shown()));
  }
  if (opened.set_aside) {
    complain(trf("the alerts of before are unknown ({}): the file was set aside as {}",
                 opened.set_aside->why.shown(), opened.set_aside->path));
  }
}

/// Without one the server serves what is now, and says so once.
void Daemon::open_history() {
  if (!plan_.settings.keeps_history) return;
  if (context_.replay()) return complain(tr("no history is kept of a recording"));
  const auto directory = server_state_directory(context_);
  if (!directory) return complain(tr("no history is kept: there is no home to keep it in"));
  const std::string path = history_path(*directory, context_.sources().simulated);
  history_.open(path, plan_.settings.history, simulated_past(context_));
  if (const auto file = hours_file(context_)) hours_.emplace(path, *file);
  check_history();
}

void Daemon::check_history() {
  if (hours_ && history_.readable() != nullptr) hours_->keep(context_.clock().moment());
  const auto state = history_.check();
  if (!state) return;
  metrics_.set_history(state->figures, state->lost);
  if (state->goes_on) complain(tr("a history is kept from now on"));
  if (!state->stopped_because.empty()) {
    complain(trf("no history is kept until this is over: {}", state->stopped_because.shown()));
  }
}

void Daemon::publish() {
  serve::RequestContext request_context;
  request_context.snapshot = newest_;
  request_context.views = views_;
  request_context.sequence = sequence_;
  request_context.now = context_.clock().wall_now();
  request_context.interval = plan_.settings.interval;
  request_context.unanswered_since = live_.unanswered_since();
  request_context.visibility = plan_.settings.visibility;
  if (!context_.replay()) {
    const auto rules = context_.policy();
    request_context.rules = rules.value_or(nullptr);
    request_context.are_rules_unread = !rules;
    request_context.planned = planned_here(context_);
  }
  request_context.price = plan_.settings.price;
  request_context.book = people_.book();
  request_context.runs = &runs_;
  request_context.judge = &judge_;
  // Processes of a recording are not those of this machine that have their numbers now.
  request_context.acts = context_.replay() ? nullptr : &acts_;
  request_context.simulated = context_.sources().simulated;
  request_context.metrics = &metrics_;
  request_context.history = history_.readable();
  request_context.is_opening_history = history_.is_opening();
  metrics_.set_requests(server_->requests());
  request_context.fleet = fleet_.view();
  metrics_.set_fleet(request_context.fleet);
  request_context.alerts = alerts_.board();
  metrics_.set_alerts(request_context.alerts->active);
  published_ = context_.clock().now();
  handler_.publish(std::move(request_context));
  server_->wake_subscribers();
}

/// Once a second, whatever the driver does: a look that hangs is told, too.
void Daemon::pulse() {
  if (drains_) return;
  alerts_.pulse(newest_.get(), live_.unanswered_since());
  follow_people();
  const Duration since = context_.clock().now() - published_;
  if (since > plan_.settings.interval * 3 / 2) publish();
  serve::HandlerRules rules = handler_.rules();
  rules.tokens = tokens();
  handler_.set_rules(std::move(rules));
  check_history();
  if (planned_) planned_->look();
  if (context_.variable("WATCHDOG_USEC")) tell_systemd("WATCHDOG=1");
  loop_.after(seconds(1), [this] { pulse(); });
}

// --------------------------------------------------------------------------------- configuration

serve::TokenStore Daemon::tokens() {
  tokens_.look_again();
  if (const auto mistake = tokens_.take_mistake()) {
    complain(trf("no token will be taken: {}", mistake->shown()));
  }
  return tokens_.tokens();
}

/// Somebody who is added while the server runs has runs as well.
void Daemon::follow_people() {
  if (!people_.look_again()) return;
  runs_.look_in(record_directories(context_, people_.passwd()));
  see_anew();
}

void Daemon::apply(const serve::Settings& settings) {
  follow_people();
  // Ours may be another than the one that users see, init's is theirs; it is for root to read.
  const auto mounts =
      read_file(::geteuid() == 0 ? "/proc/1/mountinfo" : "/proc/self/mountinfo", longest_mountinfo);
  plan_.settings.visibility.commands_are_open = mounts && proc_shows_commands(*mounts);
  serve::HandlerRules rules;
  rules.hosts = settings.hosts;
  for (const serve::Address& address : settings.listen) rules.hosts.push_back(address.host);
  rules.sites = settings.sites;
  rules.tokens = tokens();
  rules.require_tokens = settings.require_tokens;
  rules.own_uid = ::geteuid();
  handler_.set_rules(std::move(rules));
  metrics_.configure(settings.metrics, settings.interval);
  see_anew();
}

Result<void> Daemon::join(const serve::JoinSettings& settings) {
  auto members = serve::members_of(settings);
  if (!members) return std::unexpected(std::move(members).error().at("--join"));
  for (const serve::FleetMember& member : *members) {
    if (!serve::shows_token(member)) continue;
    complain(trf("the token for {} travels in the clear: https://… would keep it secret",
                 printable(member.name)));
  }
  // News of other servers are served within a second, however seldom this machine is looked at.
  fleet_.on_news([this] {
    if (!drains_ && context_.clock().now() - published_ >= seconds(1)) publish();
  });
  fleet_.join(*std::move(members), {.interval = settings.interval, .at_once = settings.at_once});
  return {};
}

void Daemon::reload() {
  tell_systemd("RELOADING=1");
  auto read = plan_.read_again();
  auto taken = read ? serve::settings_to_take(plan_.settings, *std::move(read))
                    : std::unexpected(std::move(read).error());
  if (!taken) {
    complain(trf("the configuration stays as it was: {}", taken.error().shown()));
    return tell_systemd("READY=1");
  }
  for (const Sentence& wait : taken->waits) complain(wait.shown());
  serve::Settings& settings = taken->settings;
  if (settings.tls && plan_.settings.tls) {
    const auto reloaded = server_->reload_certificates(*settings.tls);
    if (!reloaded) complain(reloaded.error().shown());
  }
  if (const auto joined = join(settings.join); !joined) {
    complain(trf("the servers that are joined stay as they were: {}", joined.error().shown()));
  }
  plan_.settings = std::move(settings);
  apply(plan_.settings);
  alerts_.configure(plan_.settings.alerts, serve::details_interval(plan_.settings.interval));
  publish();
  complain(tr("the configuration has been read again"));
  tell_systemd("READY=1");
}

// --------------------------------------------------------------------------------------- signals

void Daemon::read_signals() {
  while (const auto signal = signals_.next()) {
    if (signal->number == SIGHUP) reload();
    if (signal->number == SIGTERM || signal->number == SIGINT) drain();
  }
  loop_.when_readable(signals_.descriptor(), std::chrono::hours(1), [this] { read_signals(); });
}

void Daemon::drain() {
  if (std::exchange(drains_, true)) return;
  tell_systemd("STOPPING=1");
  drained_ = context_.clock().now() + drain_patience;
  history_.end();
  loop_.after(drain_patience, [this] { loop_.stop(); });
  server_->drain([this] { loop_.stop(); });
}

/// The queue is written by now, or has the rest of the patience. After that the process ends as it
/// is: the history's thread is in the middle of a write. The journal keeps the store whole.
void Daemon::end_history() {
  if (history_.stop(std::max(drained_ - context_.clock().now(), Duration{0}))) return;
  complain(
      tr("the last seconds of the history could not be written: its disk does not answer. What "
         "was written before is whole"));
  end_process_now(exit_code::ok);
}

/// Shows a link where a user sits, which makes that user known there. The link is for the user's
/// terminal alone.
void Daemon::show_page() {
  const std::string page =
      serve::page_address(server_->addresses(), plan_.settings.tls.has_value());
  handler_.sign_in().set_page(page);
  if (page.empty()) {
    if (std::exchange(browser_, std::nullopt)) {
      complain(tr("no page is opened: a browser needs an address, and there is none (--listen)"));
    }
    return;
  }
  const auto link = handler_.sign_in().make_link(::geteuid(), context_.clock().wall_now());
  const std::string known =
      link ? page + std::string(serve::sign_in_fragment) + link->secret : page;
  if (link && context_.stderr_is_terminal()) {
    complain(trf("to be signed in there, open this within {} minutes, once: {}",
                 serve::SignIn::link_lasts.count(), known));
  }
  if (!browser_) return;
  // Through SSH the browser is elsewhere, and finds no file of this machine.
  const auto directory = server_state_directory(context_);
  const bool is_near = !context_.variable("SSH_CONNECTION") && !context_.variable("SSH_TTY");
  const auto file = link && directory && is_near ? link_file_.write(*directory, known)
                                                 : Result<std::string>(page);
  browser_->show(file.value_or(page));
  browser_.reset();
}

int Daemon::run() {
  apply(plan_.settings);
  if (const auto joined = join(plan_.settings.join); !joined) {
    return report(joined.error(), exit_code::usage);
  }
  auto server = serve::HttpServer::open(loop_, handler_, context_.clock(),
                                        {.socket = plan_.socket,
                                         .listen = plan_.settings.listen,
                                         .tls = plan_.settings.tls,
                                         .most_connections = serve::connections_with_room()});
  if (!server) return report(server.error());
  server_ = std::move(*server);
  say_where(context_, server_->addresses(), plan_.settings.tls.has_value(), plan_.socket);
  show_page();
  open_history();
  open_alerts();
  if (!context_.replay() && hours_file(context_)) planned_.emplace(context_, loop_, handler_);
  next_look_ = published_ = context_.clock().now();
  look();
  pulse();
  read_signals();
  loop_.run();
  server_.reset();
  end_history();
  return exit_code::ok;
}

}  // namespace

int run_server(Context& context, ServePlan plan) {
  // First: with SIGCHLD ignored, as some are started, nobody could tell how a child ended.
  auto signals = SignalQueue::open();
  if (!signals) return report(signals.error());
  std::optional<BrowserLater> browser;
  const bool opens = plan.open_page == OpenPage::always ||
                     (plan.open_page == OpenPage::where_expected && expects_browser(context));
  if (opens) {
    auto begun = BrowserLater::begin(context);
    if (begun) browser = std::move(*begun);
    if (!begun) complain(trf("no page is opened: {}", begun.error().shown()));
  }
  auto live = Live::start(context);
  if (!live) return report(live.error());
  return Daemon(context, std::move(plan), std::move(browser), std::move(*live), std::move(*signals))
      .run();
}

}  // namespace berth
