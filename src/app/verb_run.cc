// `berth run`: a command on the right device, alone there, with a record.

#include <CLI/CLI.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "app/request_options.h"
#include "app/verb.h"
#include "base/fd.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/tr.h"
#include "run/run.h"
#include "view/placement_text.h"
#include "view/run_start_text.h"
#include "view/runs_text.h"

namespace berth {

namespace {

void to_stderr(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

/// The record of a run that has just ended; where it could not be written, what is known of it.
RunRecord record_of(const RunFinished& finished) {
  if (finished.recorded) {
    auto record = read_run(finished.started.directory);
    if (record && record->end) return std::move(*record);
  }
  RunRecord known;
  known.manifest.id = finished.started.id;
  known.manifest.cpu_only = finished.started.cpu_only;
  known.manifest.given = finished.started.snapshot;
  std::erase_if(known.manifest.given.devices, [&](const Device& device) {
    return std::none_of(finished.started.devices.begin(), finished.started.devices.end(),
                        [&](const Choice& choice) { return choice.device == device.id; });
  });
  for (const Choice& choice : finished.started.devices) {
    known.manifest.promised.push_back(choice.promised);
  }
  known.state = RunState::ended;
  known.end = RunEnd{.at = {known.manifest.started.unix_ms + finished.lasted.count()},
                     .exit = finished.exit,
                     .because = finished.because,
                     .released = std::nullopt,
                     .cpu_ms = std::nullopt,
                     .summary = finished.summary};
  return known;
}

/// Tells somebody who waits: one line that updates on a terminal, a line per change in a pipe.
class WaitingTeller {
 public:
  explicit WaitingTeller(const Context& context) : context_(context) {}

  void operator()(const WaitingNews& news) {
    if (context_.stderr_is_terminal()) {
      // Who is in the way is said once in full; after that one line keeps itself up to date.
      if (last_.empty()) to_stderr(render_refusals(news.placement, news.snapshot, context_.err()));
      last_ = render_waiting_line(news, context_.err());
      to_stderr("\r" + last_ + std::string(clear_to_end_of_line()));
      return;
    }
    std::string notice = render_waiting_notice(news, context_.err());
    if (notice == last_) return;
    to_stderr(notice);
    last_ = std::move(notice);
  }

  /// Takes the line away before anything else is printed.
  void finish() {
    if (!last_.empty() && context_.stderr_is_terminal()) {
      to_stderr("\r" + std::string(clear_to_end_of_line()));
    }
    last_.clear();
  }

 private:
  const Context& context_;
  std::string last_;
};

class RunVerb final : public Verb {
 public:
  void declare(CLI::App& app) override {
    const auto word = [](std::string_view english) { return std::string(tr(english)); };
    request_.declare(app);
    app.add_flag("--json", json_, word("with --dry-run: the reasoning as JSON"));
    app.add_flag("--uuids", uuids_, word("give the job UUIDs instead of indices"));
    const std::string life = word("The job's life");
    app.add_flag("-d,--detach", detach_, word("leave it running, also after logout"))->group(life);
    app.add_option("--log", log_, word("where a detached job's output goes"))->group(life);
    app.add_option("--time", time_, word("end it after so long: a warning signal, then stop"))
        ->group(life);
    app.add_option("--warn-signal", warn_signal_, word("the warning: TERM, USR1, INT, …"))
        ->group(life);
    app.add_option("--warn-ahead", warn_ahead_, word("how long before the limit to warn (60s)"))
        ->group(life);
    app.add_flag("--hold", hold_, word("keep the device while any process of the job lives"))
        ->group(life);
    app.add_option(
           "--linger", linger_,
           word("how long what the job left running must not have it open before it goes (60s)"))
        ->group(life);
    app.add_flag("-q,--quiet", quiet_, word("say nothing but what went wrong"));
  }

  [[nodiscard]] std::vector<OptionalValue> optional_values() const override {
    return RequestOptions::optional_values();
  }
  [[nodiscard]] int usage_code() const override { return exit_code::berth_failed; }
  [[nodiscard]] bool takes_command() const override { return true; }

  int run(Context& context, const std::vector<std::string>& command) override {
    if (command.empty() && !request_.dry_run()) {
      complain(tr("run: no command; write: berth run -- python train.py"));
      return usage_code();
    }
    RunOptions options;
    options.command = command;
    if (const auto filled = fill(options, context); !filled) {
      return report(filled.error(), usage_code());
    }
    if (request_.dry_run()) return dry_run(context, options);
    return start(context, options);
  }

 private:
  Result<void> fill(RunOptions& options, const Context& context) const {
    auto request = request_.request();
    if (!request) return std::unexpected(std::move(request).error());
    options.request = std::move(*request);
    auto wait = request_.wait(std::chrono::milliseconds(0));
    if (!wait) return std::unexpected(std::move(wait).error());
    options.wait = *wait;
    auto or_cpu = request_.or_cpu();
    if (!or_cpu) return std::unexpected(std::move(or_cpu).error());
    if (or_cpu->has_value()) {
      options.where = RunWhere::gpu_or_cpu;
      options.cpu_after = **or_cpu;
    }
    if (request_.cpu()) options.where = RunWhere::cpu;
    options.visible_format = uuids_ ? VisibleFormat::uuids : VisibleFormat::indices;
    options.environment = context.environment();
    options.working_directory = working_directory();
    options.state_directory = context.state_directory().value_or("");
    options.detach = detach_;
    if (!log_.empty()) options.log = log_;
    options.hold = hold_;
    return fill_time(options);
  }

  Result<void> fill_time(RunOptions& options) const {
    if (!time_.empty()) {
      auto limit = parse_duration(time_);
      if (!limit) return std::unexpected(std::move(limit).error().because("--time"));
      options.time_limit = *limit;
    }
    if (!warn_ahead_.empty()) {
      auto ahead = parse_duration(warn_ahead_);
      if (!ahead) return std::unexpected(std::move(ahead).error().because("--warn-ahead"));
      options.warning_ahead = *ahead;
    }
    if (!linger_.empty()) {
      auto linger = parse_duration(linger_);
      if (!linger) return std::unexpected(std::move(linger).error().because("--linger"));
      options.linger = *linger;
    }
    if (!warn_signal_.empty()) {
      const auto signal = signal_by_name(warn_signal_);
      if (!signal) {
        return fail(ErrorCode::invalid, trf("--warn-signal: there is no signal \"{}\"; write TERM, "
                                            "INT, HUP, USR1 or USR2",
                                            printable(warn_signal_)));
      }
      options.warning_signal = *signal;
    }
    return {};
  }

  static std::optional<int> signal_by_name(std::string_view name) {
    if (name.starts_with("SIG")) name.remove_prefix(3);
    constexpr std::pair<std::string_view, int> names[] = {{"TERM", SIGTERM}, {"INT", SIGINT},
                                                          {"HUP", SIGHUP},   {"USR1", SIGUSR1},
                                                          {"USR2", SIGUSR2}, {"QUIT", SIGQUIT}};
    for (const auto& [known, number] : names) {
      if (equals_ignoring_case(known, name)) return number;
    }
    return std::nullopt;
  }

  static std::string working_directory() {
    const auto path = read_link("/proc/self/cwd");
    return path ? *path : std::string();
  }

  int dry_run(Context& context, const RunOptions& options) const {
    const auto snapshot = context.look(Depth::state);
    if (!snapshot) return report(snapshot.error(), usage_code());
    auto limits = inherited_limits(context, *snapshot);
    if (!limits) return report(limits.error(), usage_code());
    limits->reserved = reserved_before(*snapshot, snapshot->waiters.size(), *limits);
    const Placement placement = place(*snapshot, options.request, *limits);
    print(json_ ? placement_json(placement, options.request, *snapshot) + "\n"
                : render_placement(placement, options.request, *snapshot, context.out()));
    return placement.satisfied() ? exit_code::ok : exit_code::no_device;
  }

  int start(Context& context, RunOptions& options) {
    std::optional<Ledger> ledger;
    if (options.where != RunWhere::cpu) {
      auto opened = context.open_ledger();
      if (!opened) return report(std::move(opened).error().because(tr("run")), usage_code());
      ledger.emplace(std::move(*opened));
      say_whose_ledger(context, ledger->place());
    }
    WaitingTeller teller(context);
    RunServices services{.clock = context.clock(),
                         .ledger = ledger ? &*ledger : nullptr,
                         .look = [&] { return context.look_without_claims(Depth::state); },
                         .sight = [&] { return open_sight(context); }};
    const auto outcome = run_job(options, services, callbacks(context, teller));
    teller.finish();
    if (!outcome) return report(outcome.error(), usage_code());
    return finish(context, options, *outcome);
  }

  void say_whose_ledger(const Context& context, const LedgerPlace& place) const {
    if (quiet_ || place.kind != LedgerPlace::Kind::own || context.sources().simulated) return;
    complain(
        tr("this ledger is yours alone: other users' jobs are seen through the driver only "
           "(one ledger for all: sudo berth setup)"));
  }

  static Result<Sight> open_sight(const Context& context) {
    auto observer = Observer::start(context.sources());
    if (!observer) return std::unexpected(std::move(observer).error());
    auto shared = std::make_shared<Observer>(std::move(*observer));  // std::function must copy
    return Sight([shared](const std::vector<Claim>& claims, WallTime now) {
      return shared->look(Depth::state, claims, now);
    });
  }

  RunCallbacks callbacks(const Context& context, WaitingTeller& teller) const {
    RunCallbacks words;
    words.on_waiting = [&](const WaitingNews& news) { teller(news); };
    words.on_cpu_fallback = [&](const NotAcquired& refusal) {
      teller.finish();
      if (quiet_) return;
      to_stderr(render_refusals(refusal.placement, refusal.snapshot, context.err()));
      complain(tr("no device: running on the CPU, as --or-cpu says"));
    };
    words.on_started = [&](const RunStarted& started) {
      teller.finish();
      if (quiet_) return;
      to_stderr(render_started({.id = started.id,
                                .cpu_only = started.cpu_only,
                                .devices = started.devices,
                                .simulated = started.snapshot.simulated,
                                .waited = started.waited},
                               context.err()));
    };
    words.on_finished = [&](const RunFinished& finished) {
      if (!quiet_) to_stderr(render_end_line(record_of(finished), context.err()));
    };
    words.say = [](std::string_view sentence) { complain(sentence); };
    return words;
  }

  int finish(const Context& context, const RunOptions& options, const RunOutcome& outcome) const {
    switch (outcome.how) {
      case RunOutcome::How::finished:
      case RunOutcome::How::interrupted:
        std::fflush(stdout);
        return end_like(outcome.exit);
      case RunOutcome::How::detached:
        print(outcome.id + "\n");
        return exit_code::ok;
      case RunOutcome::How::not_started:
        return report(*outcome.error, outcome.error->code() == ErrorCode::not_found
                                          ? exit_code::not_found
                                          : exit_code::cannot_execute);
      case RunOutcome::How::refused:
        to_stderr(
            render_refusals(outcome.refusal->placement, outcome.refusal->snapshot, context.err()));
        say_what_to_do(options, *outcome.refusal);
        return exit_code::no_device;
    }
    return usage_code();
  }

  static void say_what_to_do(const RunOptions& options, const NotAcquired& refusal) {
    switch (refusal.why) {
      case NotAcquired::Why::none_free:
        complain(
            tr("no device is free for this job; --wait waits in the queue, --or-cpu runs it "
               "on the CPU"));
        return;
      case NotAcquired::Why::never_possible:
        complain(tr("this machine can never give what was asked for, whoever leaves"));
        return;
      case NotAcquired::Why::timed_out:
        complain(trf("no device came within {}",
                     short_duration(options.wait.value_or(std::chrono::milliseconds(0)))));
        return;
      case NotAcquired::Why::interrupted:
        return;
    }
  }

  RequestOptions request_;
  std::string log_, time_, warn_signal_, warn_ahead_, linger_;
  bool json_ = false;
  bool uuids_ = false;
  bool detach_ = false;
  bool hold_ = false;
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_run() { return std::make_unique<RunVerb>(); }

}  // namespace berth
