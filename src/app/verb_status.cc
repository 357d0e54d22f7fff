// `berth status`, and plain `berth`: every device and who is on it.

#include <algorithm>
#include <string>
#include <utility>

#include "app/live.h"
#include "app/planned_start.h"
#include "app/records.h"
#include "app/several_servers.h"
#include "app/terminal.h"
#include "app/verb.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/tr.h"
#include "snapshot/fields.h"
#include "snapshot/json.h"
#include "view/csv.h"
#include "view/queue_text.h"
#include "view/refresh.h"
#include "view/status.h"

namespace berth {

namespace {

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
    if (watches) {
      auto every = parse_duration(without_sign(watch_));
      if (!every) return report(std::move(every).error().at("-w"), exit_code::usage);
      return watch_servers(context, every_, std::max(*every, std::chrono::milliseconds(100)));
    }
    return show_servers(context, every_, json_);
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
    if (!csv_.empty()) say_simulated(snapshot->simulated);
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

  /// CSV has no place for what could not be read: an empty cell does not say that. Once, however
  /// often it is looked.
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
      if (std::exchange(first, false) && !csv_.empty()) say_simulated(snapshot.simulated);
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
  SeveralServers every_;
  StatusOptions options_;
  SaidProblems said_;
  std::vector<const Field*> columns_;  // of --csv
};

}  // namespace

std::unique_ptr<Verb> make_status() { return std::make_unique<StatusVerb>(); }

}  // namespace berth
