// `berth run`: a command on the right device, alone there, with a record.

#include <fcntl.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "app/detached_wait.h"
#include "app/live.h"
#include "app/planned_start.h"
#include "app/run_options.h"
#include "app/run_words.h"
#include "app/slurm_options.h"
#include "app/verb.h"
#include "base/fd.h"
#include "base/sentence.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/tr.h"
#include "diagnose/postmortem/memory_death.h"
#include "host_environment/environment.h"
#include "host_environment/machine_side.h"
#include "probe/nvml/memory_limits.h"
#include "run/cap.h"
#include "run/container/engine.h"
#include "run/ranks/rank_words.h"
#include "view/placement_text.h"
#include "view/run_text.h"

namespace berth {

namespace {

class RunVerb final : public Verb {
 public:
  void declare(Options& options) override {
    flags_.declare(options);
    slurm_.declare(options);
    options.choice("--on", on_, "where it runs: here, or slurm, whose options these are", "WHERE",
                   {"here", "slurm"});
    options.hidden_value("--start-lock", start_lock_);
  }
  [[nodiscard]] bool decides_by_config() const override { return true; }
  [[nodiscard]] std::vector<OptionalValue> optional_values() const override {
    return RequestOptions::optional_values();
  }
  [[nodiscard]] int usage_code() const override { return exit_code::berth_failed; }
  [[nodiscard]] bool takes_command() const override { return true; }

  int run(Context& context, const std::vector<std::string>& command) override {
    if (command.empty() && !flags_.dry_run()) {
      complain(tr("run: no command; write: berth run -- python train.py"));
      return usage_code();
    }
    auto options = flags_.options(context, command);
    if (!options) return report(options.error(), usage_code());
    if (on_ == "slurm") {
      return submit_job(context, flags_, *options, slurm_.settings(),
                        options->detach ? UntilItEnds::no : UntilItEnds::yes);
    }
    if (const std::string only_there = slurm_.given(); !only_there.empty()) {
      complain(trf("run: {} is for Slurm: add --on slurm", only_there));
      return usage_code();
    }
    if (const auto nodes = check_nodes(options->job, nodes_given(options->environment)); !nodes) {
      return report(Error(nodes.error()).because(sentence("run")), usage_code());
    }
    return flags_.dry_run() ? dry_run(context, *options) : start(context, *options);
  }

 private:
  int dry_run(Context& context, const RunOptions& options) const {
    if (options.job.cap) {  // a run that is started asks by itself
      const CapMeans means = cap_means(options, services_of(context, nullptr, options));
      if (const auto cap = cap_of(options.job, means.facts); !cap) {
        return report(Error(cap.error()).because(sentence("run")), usage_code());
      }
      if (means.shim) {  // what is mended now, no later run has to mend
        for (const Sentence& one : means.shim->said) complain(one.shown());
      }
    }
    if (options.job.where == RunWhere::cpu) {
      const Snapshot unlooked{.simulated = context.sources().simulated};
      print(flags_.json() ? json_without_devices(context, {}, options, unlooked)
                          : said_of_cpu(unlooked));
      return exit_code::ok;
    }
    auto looked = context.look_without_claims(wanted_for(options.job));
    if (!looked) return report(looked.error(), usage_code());
    const auto found = considered(context, options.job, *std::move(looked));
    if (context.ledger_error()) return report(*context.ledger_error(), usage_code());
    if (!found) return report(found.error(), usage_code());
    const auto& [request, snapshot, placement] = *found;
    if (!placement.satisfied() && options.job.where == RunWhere::gpu_or_cpu) {
      return dry_run_without_devices(context, options, *found);
    }
    print(flags_.json() ? placement_json(placement, asked_for(options), snapshot) + "\n"
                        : render_placement(placement, request, snapshot, context.out()));
    if (!placement.satisfied()) return exit_code::no_device;
    return flags_.talk() == Talk::verbose ? say_container_words(context, options, *found)
                                          : exit_code::ok;
  }

  /// What a start would put into the command of a container, and where it would refuse that.
  int say_container_words(Context& context, const RunOptions& options,
                          const Considered& found) const {
    const auto command = read_container_command(options.job.command);
    if (!command) return report(command.error(), usage_code());
    if (!*command) return exit_code::ok;
    const auto engine = fit_container(**command, options, services_of(context, nullptr, options));
    if (!engine) return report(engine.error(), usage_code());
    const auto start =
        start_container_with(**command, devices_of(found.placement.chosen), found.snapshot, *engine,
                             {.run = "RUN", .cid_file = "FILE"});
    if (!start) return report(start.error(), usage_code());
    complain(sentence_of_container((*command)->engine, start->added));
    return exit_code::ok;
  }

  static std::string said_of_cpu(const Snapshot& unlooked) {
    std::string said;
    if (unlooked.simulated) said = "SIMULATED " + printable(*unlooked.simulated) + "\n";
    return said + std::string(tr("Would run on the CPU: --cpu asks for no device.")) + "\n";
  }

  /// With --or-cpu. The exit code says whether the job would start at once.
  int dry_run_without_devices(const Context& context, const RunOptions& options,
                              const Considered& found) const {
    const auto& [request, snapshot, placement] = found;
    const bool waits = options.job.cpu_after.count() > 0 && placement.possible;
    if (flags_.json()) {
      print(waits ? placement_json(placement, asked_for(options), snapshot) + "\n"
                  : json_without_devices(context, placement, options, snapshot));
    } else {
      print(render_placement(placement, request, snapshot, context.out()));
      print(waits ? trf("Would wait {} for a device, then run on the CPU, as --or-cpu says.",
                        short_duration(options.job.cpu_after))
                  : std::string(tr("Would run on the CPU, as --or-cpu says.")));
      print("\n");
    }
    return waits ? exit_code::no_device : exit_code::ok;
  }

  static std::string json_without_devices(const Context& context, const Placement& placement,
                                          const RunOptions& options, const Snapshot& snapshot) {
    const auto settings = cpu_only_settings(context.environment(), threads_of_a_job(""));
    return placement_json(placement, asked_for(options), snapshot, settings) + "\n";
  }

  static std::string asked_for(const RunOptions& options) { return as_typed(options.job); }

  /// A waiting process for a detached job is detached already: the terminal is not kept for it.
  int start(Context& context, RunOptions& options) {
    take_start_lock();
    if (!waits_detached(options)) return start_here(context, options, nullptr);
    const auto code =
        stand_before([&](const LetGo& let_go) { return start_here(context, options, let_go); },
                     start_lock_.empty() ? UntilLetGo::goes_on : UntilLetGo::ends_too);
    return code ? *code : report(code.error(), usage_code());
  }

  /// A sweep's: who holds a copy may still begin a run that has no record yet. Not the job's.
  void take_start_lock() {
    const auto number = parse_unsigned(start_lock_);
    if (!number || *number <= STDERR_FILENO || *number > INT_MAX) return;
    const int fd = static_cast<int>(*number);
    if (::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0) held_to_start_ = Fd(fd);
  }

  /// `let_go`: of a detached job that may have to wait; else null.
  int start_here(Context& context, RunOptions& options, const LetGo& let_go) {
    if (options.job.retry_oom > 0 && !options.detach && !options.job.request.memory) {
      complain(
          tr("--retry-oom cannot see here why the job ends: add --detach, so that its output is "
             "kept, or --memory"));
    }
    std::optional<Ledger> ledger;
    if (options.job.where != RunWhere::cpu) {
      auto opened = context.open_ledger();
      if (!opened) return report(std::move(opened).error().because(sentence("run")), usage_code());
      ledger.emplace(std::move(*opened));
      say_whose_ledger(context, ledger->place());
    }
    WaitingReporter reporter(context);
    RunServices services = services_of(context, ledger ? &*ledger : nullptr, options);
    if (const auto limited = take_inherited_limits(context, options); !limited) {
      return report(limited.error(), usage_code());
    }
    options.limits.last_had = devices_last_had(options.state_directory);
    RunCallbacks words = words_of_a_run(context, reporter, flags_.talk());
    const auto on_starting = words.on_starting;
    words.on_starting = [&](const RunStarted& started) {
      held_to_start_.close();  // there is a record
      on_starting(started);
    };
    if (let_go) {
      words.on_waits_alone = [&](const RunWaits& waits) {
        held_to_start_.close();
        reporter.finish();  // what is said from here on goes to another place
        tell_that_it_waits(waits);
        let_go(waits.log);
        context.leave_terminal();
      };
    }
    const auto outcome = run_job(options, services, words);
    const bool is_told = outcome && outcome->refusal && reporter.has_told(*outcome->refusal);
    reporter.finish();
    if (!outcome) return report(outcome.error(), usage_code());
    return finish(context, options, *outcome, is_told ? Devices::told : Devices::untold);
  }

  static RunServices services_of(Context& context, Ledger* ledger, const RunOptions& options) {
    RunServices services = services_of_runs(context, ledger);
    services.look = [&] { return context.look_without_claims(wanted_for(options.job)); };
    services.policy = [&] { return context.policy(); };
    services.memory = who_held_its_memory;
    services.kernel_limits = [&] {
      return nvml::memory_limits(context.sources(), context.clock());
    };
    services.set_kernel_limits = roots_limit_setter(context);
    return services;
  }

  static bool waits_detached(const RunOptions& options) {
    if (!options.detach || options.job.where == RunWhere::cpu) return false;
    const auto wait = wait_for_devices(options.job);
    return !options.job.after.empty() || !wait || wait->count() > 0;
  }

  void tell_that_it_waits(const RunWaits& waits) const {
    if (!waits.recorded || flags_.talk() != Talk::quiet) complain(sentence_of(waits));
    (void)tell_id(waits.id);
  }

  /// An inherited list is never widened. Only where there is one does it take a look of its own.
  static Result<void> take_inherited_limits(Context& context, RunOptions& options) {
    if (options.job.where == RunWhere::cpu || !limits_devices(visible_settings(context))) {
      return {};
    }
    const auto snapshot = context.look_without_claims(Depth::placement);
    if (!snapshot) return std::unexpected(snapshot.error());
    auto limits = inherited_limits(context, *snapshot);
    if (!limits) return std::unexpected(std::move(limits).error());
    options.limits = std::move(*limits);
    return {};
  }

  void say_whose_ledger(const Context& context, const LedgerPlace& place) const {
    if (flags_.talk() == Talk::quiet || place.kind != LedgerPlace::Kind::own ||
        context.sources().simulated)
      return;
    if (is_there("/.dockerenv") || is_there("/run/.containerenv")) {
      complain(
          tr("in this container others' leases cannot be seen. Start it with -v "
             "/run/berth:/run/berth and -u $(id -u) where that is wanted"));
      return;
    }
    complain(
        tr("this ledger is yours alone: other users' jobs are seen through the driver only. One "
           "ledger for all: sudo berth setup"));
  }

  int finish(const Context& context, const RunOptions& options, const RunOutcome& outcome,
             Devices devices) const {
    switch (outcome.how) {
      case RunOutcome::How::finished:
        if (outcome.refusal) say_no_other_device(context, options, *outcome.refusal);
        [[fallthrough]];
      case RunOutcome::How::interrupted:
        std::fflush(stdout);
        return end_like(outcome.exit);
      case RunOutcome::How::detached:
        return tell_id(outcome.id);
      case RunOutcome::How::not_started:
        return report(*outcome.error, exit_code_of_no_start(*outcome.error));
      case RunOutcome::How::refused:
        say_refusal(context, options, *outcome.refusal, devices);
        return exit_code::no_device;
    }
    return usage_code();
  }

  /// Straight to the descriptor: where that fails, the user must hear how to find the job.
  int tell_id(const std::string& id) const {
    const auto told = write_all(STDOUT_FILENO, id + "\n");
    if (told) return exit_code::ok;
    complain(
        trf("the job runs as {}, but that could not be written to stdout ({}); `berth show {}` "
            "shows it, `berth stop {}` ends it",
            id, told.error().shown(), id, id));
    return usage_code();
  }

  RunFlags flags_;
  SlurmFlags slurm_;
  std::string on_ = "here";
  std::string start_lock_;  // the number of an inherited descriptor
  Fd held_to_start_;
};

}  // namespace

std::unique_ptr<Verb> make_run() { return std::make_unique<RunVerb>(); }

}  // namespace berth
