// `berth status`, and plain `berth`: every device and who is on it.

#include <algorithm>
#include <string>
#include <utility>

#include "app/live.h"
#include "app/planned_start.h"
#include "app/progress.h"
#include "app/records.h"
#include "app/server_paths.h"
#include "app/terminal.h"
#include "app/top_servers.h"
#include "app/verb.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/tr.h"
#include "serve/api.h"
#include "serve/fleet.h"
#include "snapshot/fields.h"
#include "snapshot/json.h"
#include "view/csv.h"
#include "view/fleet_text.h"
#include "view/queue_text.h"
#include "view/refresh.h"
#include "view/status.h"

namespace berth {

namespace {

// ------------------------------------------------------------- this server and those beside it

struct StatusAll {
  std::string join;       // --join; empty: those that the server here, or its configuration, knows
  std::string join_file;  // --join-file
  bool json = false;
};

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

Result<std::vector<HostReport>> others(Context& context, const StatusAll& wanted, Clock& clock) {
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

Result<std::vector<HostReport>> all_servers(Context& context, const StatusAll& wanted,
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

int watch_all(Context& context, const StatusAll& wanted, std::chrono::milliseconds every,
              bool reads_keys = false) {
  const InterruptNote interrupt;
  RefreshedScreen screen(reads_keys);
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

/// The exit code: 0 where all answered.
int show_all(Context& context, const StatusAll& wanted) {
  const auto asked = [&] {
    ProgressClock clock(context, std::string(tr("asking the other servers")), patience);
    return all_servers(context, wanted, clock);
  };
  const auto all = asked();
  if (!all) return report(all.error(), exit_code::usage);
  print(wanted.json ? fleet_json(*all) : render_fleet(*all, context.out()));
  const bool all_answered = std::all_of(
      all->begin(), all->end(), [](const HostReport& host) { return host.state == HostState::ok; });
  return all_answered ? exit_code::ok : exit_code::failed;
}

class StatusVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.filled_value("-i,--id", devices_,
                         "only these: index, UUID prefix, PCI address or name glob", "LIST");
    options.filled_value("-u,--user", user_, "only what this user has something on", "USER");
    options.filled_value("-w,--watch", watch_, "look again every so often (2s) until Ctrl-C",
                         "[TIME]");
    options.flag("--json", json_, "the whole snapshot as JSON");
    options.filled_value("--csv", csv_, "these fields as CSV; --fields lists them", "FIELDS");
    options.flag("--fields", fields_, "list all fields");
    options.begin_group("Several servers");
    options.flag("--all", all_, "this server and those joined to it, one line each");
    options.filled_value("--join", every_.join,
                         "with --all: these instead, with commas (gpu1,gpu2:9700,NAME=URL)",
                         "LIST");
    options.filled_value("--join-file", every_.join_file, "with --all: those in this file", "FILE");
  }

  [[nodiscard]] std::vector<OptionalValue> optional_values() const override {
    return {{"-w", "2s"}, {"--watch", "2s"}};
  }
  [[nodiscard]] std::string notes() const override {
    return trf("State: {}", tr(find_field("state")->help));
  }

  int run(Context& context, const std::vector<std::string>& rest) override {
    if (!rest.empty()) {
      complain(trf("status takes no word \"{}\"; one device: -i {}", printable(rest.front()),
                   printable(rest.front())));
      return exit_code::usage;
    }
    const bool names_others = !every_.join.empty() || !every_.join_file.empty();
    if (all_ || names_others) return everywhere(context);
    if (fields_) {
      print(render_fields(context.out_uncut()));
      return exit_code::ok;
    }
    if (!csv_.empty()) {
      auto columns = parse_field_list(csv_);
      if (!columns) return report(std::move(columns).error().at("--csv"), exit_code::usage);
      columns_ = std::move(*columns);
    }
    if (!devices_.empty()) {
      auto patterns = parse_patterns(devices_);
      if (!patterns) return report(std::move(patterns).error().at("-i"), exit_code::usage);
      options_.devices = std::move(*patterns);
    }
    if (!user_.empty()) options_.user = user_;
    if (watch_.empty()) return once(context);
    auto every = parse_duration(without_sign(watch_));
    if (!every) return report(std::move(every).error().at("-w"), exit_code::usage);
    return watch(context, std::max(*every, std::chrono::milliseconds(100)));
  }

 private:
  /// "-w=2s", as one would write it of a long option.
  static std::string_view without_sign(std::string_view value) {
    if (value.starts_with('=')) value.remove_prefix(1);
    return value;
  }

  int everywhere(Context& context) {
    const bool watches = !watch_.empty();
    if (!all_ || fields_ || !devices_.empty() || !user_.empty() || !csv_.empty() ||
        (watches && json_)) {
      complain(all_ ? tr("status --all takes only -w or --json, --join and --join-file beside it")
                    : tr("--join and --join-file belong to status --all"));
      return exit_code::usage;
    }
    every_.json = json_;
    if (watches) {
      auto every = parse_duration(without_sign(watch_));
      if (!every) return report(std::move(every).error().at("-w"), exit_code::usage);
      return watch_all(context, every_, std::max(*every, std::chrono::milliseconds(100)));
    }
    return show_all(context, every_);
  }

  int once(Context& context) {
    const auto snapshot = context.look(wanted());
    if (!snapshot) return report(snapshot.error());
    const JsonLayout layout =
        context.stdout_is_terminal() ? JsonLayout::indented : JsonLayout::compact;
    const auto text = answer(*snapshot, context.out(), layout);
    if (!text) return report(text.error(), code_of(text.error()));
    print(*text);
    if (!json_ && csv_.empty() && !context.replay()) {
      print(render_planned(planned_here(context), context.out()));
    }
    say_simulated(*snapshot);
    say_problems(*snapshot);
    if (!json_ && csv_.empty()) say_containers_left(context);
    // No device at all is an answer that scripts must notice.
    return snapshot->devices.empty() ? exit_code::failed : exit_code::ok;
  }

  /// The table, JSON or CSV, of what the options let through.
  Result<std::string> answer(const Snapshot& snapshot, const Style& style,
                             JsonLayout layout) const {
    if (!json_ && csv_.empty()) {
      const auto known = check_patterns(snapshot, options_);
      if (!known) return std::unexpected(known.error());
      return render_status(snapshot, style, options_);
    }
    const auto shown = narrowed(snapshot, options_);
    if (!shown) return std::unexpected(shown.error());
    if (json_) return to_json(*shown, layout) + "\n";
    return render_csv(*shown, columns_);
  }

  /// What is printed. JSON has all fields: other views are made of it elsewhere (--replay).
  [[nodiscard]] Wanted wanted() const {
    if (json_) return Depth::details;
    if (csv_.empty()) return wanted_by_status();
    Wanted asked;
    for (const Extra extra : {Extra::devices, Extra::other_devices, Extra::excluded_devices,
                              Extra::instances, Extra::instance_readings, Extra::library_version}) {
      asked.add(extra);
    }
    if (options_.user) asked.add(*find_field("users"));
    asked.add<&Device::name>();  // -i may mean it
    for (const Field* field : columns_) asked.add(*field);
    return asked;
  }

  static int code_of(const Error& error) {
    return error.code() == ErrorCode::invalid ? exit_code::usage : exit_code::failed;
  }

  /// CSV has no place for it.
  void say_simulated(const Snapshot& snapshot) const {
    if (!csv_.empty() && snapshot.simulated) {
      complain(trf("SIMULATED: {}", printable(*snapshot.simulated)));
    }
  }

  /// Nor for what could not be read: an empty cell does not say that. Once, however often it is
  /// looked.
  void say_problems(const Snapshot& snapshot) {
    if (csv_.empty()) return;
    const auto shown = narrowed(snapshot, options_);
    if (!shown) return;
    for (const Problem& problem : shown->problems) {
      if (!said_.is_new(problem)) continue;
      complain(printable(problem.message.shown()));
      if (!problem.remedy.empty()) complain(printable(problem.remedy.shown()));
    }
  }

  int watch(Context& context, std::chrono::milliseconds every) {
    // One probe for all looks: rates and "since the look before" are its own to know.
    auto live = Live::start(context);
    if (!live) return report(live.error());
    const InterruptNote interrupt;
    std::optional<std::string> before;
    Style style_before = context.out();
    Instant next = context.clock().now();
    const bool in_place = context.stdout_moves() && !json_ && csv_.empty();
    bool first = true;
    while (InterruptNote::signal() == 0) {
      const Snapshot snapshot = live->look(wanted());
      const Style style = context.out_now();
      const auto text = answer(snapshot, style, JsonLayout::compact);
      if (!text) return report(text.error(), code_of(text.error()));
      if (std::exchange(first, false)) say_simulated(snapshot);
      say_problems(snapshot);
      if (in_place) {
        if (style.width != style_before.width) before.reset();
        const std::string picture = fit_to_height(*text, context.terminal_rows(), style);
        print(redraw(picture, before));
        before = picture;
        style_before = style;
      } else {
        print(json_ ? *text : *text + "\n");
      }
      if (!finish_output()) return exit_code::failed;
      next = std::max(next + every, context.clock().now());
      InterruptNote::wait_until(next, context.clock());
    }
    return exit_code::ok;
  }

  std::string devices_, user_, watch_, csv_;
  bool json_ = false;
  bool fields_ = false;
  bool all_ = false;
  StatusAll every_;
  StatusOptions options_;
  SaidProblems said_;
  std::vector<const Field*> columns_;  // of --csv
};

}  // namespace

int watch_servers(Context& context, const std::string& join, std::chrono::milliseconds every) {
  return watch_all(context, {.join = join, .json = false}, every, true);
}

std::unique_ptr<Verb> make_status() { return std::make_unique<StatusVerb>(); }

}  // namespace berth
