// The whole of `berth run`: acquire, or go without; launch; wait; sum up.

#include "run/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "base/process.h"
#include "base/process_stat.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/variables.h"
#include "host_environment/environment.h"
#include "host_environment/machine_side.h"
#include "record/record_writer.h"
#include "run/binding.h"
#include "run/cap.h"
#include "run/container/of_run.h"
#include "run/container/toolkit.h"
#include "run/handover.h"
#include "run/inside.h"
#include "run/isolate.h"
#include "run/keeper.h"
#include "run/launcher.h"
#include "run/retry.h"
#include "run/run_manifest.h"
#include "run/slurm/allocation.h"
#include "run/slurm/submit.h"
#include "run/unrecorded.h"
#include "run/waiting_run.h"

namespace berth {
namespace {
/// Who waits for the job. Mostly it is the process that the user started. For a detached job that
/// may have to be started again, it is one that stays behind.
enum class Waiting { caller, follower };

class Run {
 public:
  /// `signals`: opened by the first start and kept for the next.
  Run(const RunOptions& options, const RunServices& services, const RunCallbacks& callbacks,
      Waiting waiting, std::optional<SignalQueue>& signals)
      : options_(options),
        job_(options.job),
        services_(services),
        callbacks_(callbacks),
        waiting_(waiting),
        signals_(signals),
        ledger_(services.ledger) {}

  Result<RunOutcome> go() {
    if (auto missing = preflight()) return not_started(*std::move(missing));
    if (auto able = container_.read(options_, services_, callbacks_.on_news); !able) {
      return not_started(std::move(able).error());
    }
    if (auto able = can_isolate(); !able) return not_started(std::move(able).error());
    manifest_ = begin_manifest(options_, services_);
    auto taken = take_over_submitted(options_, manifest_, record_, services_.clock);
    if (!taken) return not_started(std::move(taken).error());
    cap_means_ = cap_means(options_, services_);
    auto cap = cap_of(job_, cap_means_.facts);
    if (!cap) return std::unexpected(std::move(cap).error());
    manifest_.cap = *std::move(cap);
    if (!job_.after.empty()) {
      auto waited = wait_for_runs();
      if (cannot_wait_) return std::unexpected(*std::move(cannot_wait_));
      if (is_interrupted())
        return never_started(*without_devices({.why = NotAcquired::Why::interrupted}));
      if (!waited) return never_started(std::unexpected(std::move(waited).error()));
    }
    if (job_.where != RunWhere::cpu) {
      auto refused = get_devices();
      if (cannot_wait_) return std::unexpected(*std::move(cannot_wait_));
      if (!refused) return never_started(std::unexpected(std::move(refused).error()));
      if (*refused) return never_started(std::move(**refused));
    }
    auto environment = job_environment();
    if (!environment)
      return never_started(std::unexpected(give_back(std::move(environment).error())));
    note_start(manifest_, started_);
    started_.directory = record_ ? record_->directory() : std::string();
    if (callbacks_.on_starting) callbacks_.on_starting(started_);
    return launch(*environment);
  }

 private:
  void tell(const RunNews& news) const {
    if (callbacks_.on_news) callbacks_.on_news(news);
  }

  RunOutcome not_started(Error error) const {
    return {.how = RunOutcome::How::not_started,
            .id = manifest_.id,
            .exit = {.code = exit_code_of_no_start(error)},
            .error = std::move(error)};
  }

  /// A mistyped command is told at once, not after hours in the queue.
  std::optional<Error> preflight() const {
    if (job_.command.empty()) return Error(ErrorCode::not_found, "no command was given");
    const auto found = find_executable(job_.command.front(), search_path_in(options_.environment));
    if (!found) return found.error();
    if (!options_.retry_of.empty()) return std::nullopt;  // it was said at the first start
    const auto container = read_container_command(job_.command);
    if (!container || *container) return std::nullopt;  // it is refused, or made to fit
    for (const auto check : {warning_about_devices_set_by, warning_about_characters_in})
      if (const auto warning = check(job_.command, *found)) tell(*warning);
    return std::nullopt;
  }

  /// With what gives its container its devices and makes it known again.
  Result<void> plan_container(const std::vector<DeviceId>& devices) {
    if (!container_.is_there()) return {};
    auto planned = container_.plan(devices, started_.snapshot, manifest_.id, *record_, options_);
    started_.engine = container_.container().engine;
    started_.container_words = container_.container().added;
    return planned;
  }

  /// Likewise that the job could not be isolated as asked: it is never started without.
  Result<void> can_isolate() {
    if (!job_.isolate) return {};
    auto facts =
        facts_to_isolate_by(job_.command, services_.simulated.has_value(), services_.clock);
    if (facts) isolation_facts_ = *std::move(facts);
    return facts ? Result<void>() : std::unexpected(std::move(facts).error());
  }

  /// What the devices that it got leave open.
  Result<void> plan_its_isolation(const std::vector<DeviceId>& devices) {
    if (!job_.isolate) return {};
    // A device file may have been made while it waited.
    isolation_facts_ = gather_isolation_facts();
    auto plan = plan_isolation(devices, started_.snapshot, isolation_facts_);
    if (!plan) return std::unexpected(std::move(plan).error());
    isolation_ = *std::move(plan);
    started_.isolation_costs = costs_of(*isolation_);
    manifest_.isolated_by = means_of(isolation_facts_);
    return {};
  }

  /// Nothing inside: devices got, or the job goes on the CPU. An outcome: it does not go at all.
  Result<std::optional<RunOutcome>> get_devices() {
    if (ledger_ == nullptr) {
      return fail(ErrorCode::unsupported,
                  "there is no ledger to claim devices in: see `berth setup`");
    }
    AcquireOptions options{.request = job_.request, .limits = options_.limits};
    TakeSnapshot look = services_.look;
    auto inside = enter_outer_lease(*ledger_, value_of(options_.environment, "BERTH_LEASE"),
                                    services_.clock, options, look);
    if (!inside) return std::unexpected(std::move(inside).error());
    if (inside->has_value()) {
      manifest_.inside = (*inside)->lease;
      inner_ledger_.emplace(std::move((*inside)->ledger));
      ledger_ = &*inner_ledger_;
    }
    // Inside a lease its owner alone decides.
    if (!inner_ledger_) options.policy = services_.policy;
    set_claim_terms(manifest_, job_, options, options_.proc);
    options.time_limit = job_.time_limit;
    if (job_.isolate) options.claim.isolated_by = means_of(isolation_facts_);
    options.wait = wait_for_devices(job_);
    options.on_news = [this](const WaitingNews& news) { hear_news(news); };
    options.tells_time = callbacks_.on_waiting_tells_time;
    options.say = [this](const Sentence& said) {
      tell(RunRemark{said});
      go_on_alone();  // for a disk that is full one waits as well
      if (record_) place_.is_missing(said, *record_, manifest_, services_.clock);
    };
    options.interrupted = [this] { return is_interrupted(); };
    const WaitingSignals noted;
    auto answer =
        acquire_or_claim(*ledger_, look, services_.clock, options,
                         inner_ledger_ ? std::vector<std::string>() : options_.environment);
    if (!answer) return std::unexpected(std::move(answer).error());
    if (auto* got = std::get_if<Acquired>(&*answer)) {
      if (is_interrupted()) {  // it came with the device: nobody wants the job any more
        (void)got->lease.end(*ledger_);
        return without_devices({.why = NotAcquired::Why::interrupted,
                                .placement = std::move(got->placement),
                                .snapshot = std::move(got->snapshot),
                                .waited = got->waited});
      }
      take(std::move(*got));
      return std::optional<RunOutcome>();
    }
    return without_devices(std::move(std::get<NotAcquired>(*answer)));
  }

  /// Once a job has been started, signals are read from the queue.
  [[nodiscard]] bool is_interrupted() const {
    while (signals_) {
      const auto signal = signals_->next();
      if (!signal) break;
      if (signal->number == SIGTSTP) stop_self(SIGTSTP);
      if (asks_for_the_end({.signal = *signal})) WaitingSignals::note(signal->number);
    }
    if (record_ && manifest_.waiting && stop_request_in(record_->directory())) return true;
    return WaitingSignals::noted() != 0 || cannot_wait_ || is_stopped_between(options_);
  }

  /// `--after`. Until they have ended it has no place in the queue.
  Result<void> wait_for_runs() {
    const WaitingSignals noted;
    const auto waits = [this](const Sentence& said) {
      tell(RunRemark{said});
      go_on_alone();
    };
    return await_runs(
        job_.after, options_.state_directory, services_.clock, [this] { return is_interrupted(); },
        waits);
  }

  void hear_news(const WaitingNews& news) {
    if (callbacks_.on_waiting) callbacks_.on_waiting(news);
    go_on_alone();
    if (record_) place_.is_there(*record_, manifest_, services_.clock);
  }

  /// Once, where the job is detached and waits.
  void go_on_alone() {
    const auto on_waits_alone = std::exchange(callbacks_.on_waits_alone, nullptr);
    if (!on_waits_alone) return;
    manifest_.waiting = true;
    manifest_.keeper = own_process_id();
    if (auto marks = make_record(); !marks) {
      cannot_wait_ = std::move(marks).error();
      return;
    }
    // What it says of its start would stand in the job's log.
    callbacks_.on_waiting = nullptr;
    callbacks_.on_starting = nullptr;
    on_waits_alone(
        {.id = manifest_.id, .log = manifest_.log.value_or(""), .recorded = record_.has_value()});
  }

  /// For a run that has a record already. A run that waits and has an end never started.
  Result<RunOutcome> never_started(Result<RunOutcome> outcome) {
    if (!record_) return outcome;
    const auto how = never_started_by(outcome);
    if (auto told = end_waiting(*record_, manifest_, how, services_.clock); !told) {
      tell(RunRemark{told.error().said()});
    }
    return outcome;
  }

  std::optional<RunOutcome> without_devices(NotAcquired refusal) {
    const bool interrupted = refusal.why == NotAcquired::Why::interrupted;
    manifest_.waited_ms = refusal.waited.count();
    if (job_.where == RunWhere::gpu_or_cpu && !interrupted) {
      if (callbacks_.on_cpu_fallback) callbacks_.on_cpu_fallback(refusal);
      return std::nullopt;
    }
    RunOutcome none{.how = interrupted ? RunOutcome::How::interrupted : RunOutcome::How::refused};
    none.exit.signal = interrupted ? WaitingSignals::noted() : 0;
    none.refusal = std::move(refusal);
    return none;
  }

  void take(Acquired got) {
    started_.devices = got.placement.chosen;
    started_.snapshot = got.snapshot;
    note_given(got, manifest_);
    lease_.emplace(std::move(got.lease));
  }

  Error give_back(Error error) {
    if (lease_) (void)lease_->end(*ledger_);
    return error;
  }

  Result<std::vector<std::string>> job_environment() {
    std::vector<Variable> variables;
    std::vector<std::string> environment = options_.environment;
    const std::vector<DeviceId> devices = devices_of(started_.devices);
    if (auto plan = plan_its_isolation(devices); !plan) return std::unexpected(plan.error());
    if (lease_ && job_.bind) {
      const auto plan = plan_binding(devices, started_.snapshot);
      plan ? void(binding_ = *plan) : tell(RunRemark{plan.error().said()});
    }
    if (lease_) {
      const auto own_choice = warning_about_variables_of(devices, started_.snapshot, job_.command,
                                                         search_path_in(options_.environment));
      if (own_choice && options_.retry_of.empty() && !container_.is_there()) tell(*own_choice);
      auto visible = visible_variables(
          devices, options_.visible_format,
          isolation_ ? seen_inside(devices, started_.snapshot) : started_.snapshot);
      if (!visible) return std::unexpected(std::move(visible).error());
      variables = *std::move(visible);
      const auto renumber = removed_variables(devices, started_.snapshot);
      for (Sentence& remark : take_away(renumber, environment)) tell(RunRemark{std::move(remark)});
    } else {
      manifest_.cpu_only = true;
      manifest_.cap.reset();
      variables = cpu_only_settings(options_.environment, threads_of_a_job(""));
    }
    variables = with_cards_for_tools(std::move(variables), job_.command);
    manifest_.variables_set = variables;
    manifest_.variables = notable_variables(options_.environment);
    manifest_.waiting = false;
    auto marks = make_record();
    if (!marks) return std::unexpected(std::move(marks).error());
    if (auto planned = plan_container(devices); !planned) return std::unexpected(planned.error());
    if (const auto held = hold_to_share(variables); !held) return std::unexpected(held.error());
    variables.emplace_back("BERTH_RUN", manifest_.id);
    const std::string within = manifest_.inside.empty() ? "" : manifest_.inside + "/";
    if (lease_) variables.emplace_back("BERTH_LEASE", within + lease_->id());
    variables.emplace_back("BERTH_MARKS", *std::move(marks));
    return with_variables(std::move(environment), variables);
  }

  Result<void> hold_to_share(std::vector<Variable>& variables) {
    if (!manifest_.cap) return {};
    const auto held = hold(*manifest_.cap, cap_means_, manifest_,
                           record_ ? record_->directory() : "", options_, services_);
    if (!held) return std::unexpected(held.error());
    started_.not_gone_along = not_gone_along(*manifest_.cap, cap_means_);
    for (const Variable& one : *held) {
      variables.push_back(one);
      if (!one.first.starts_with("BERTH_")) manifest_.variables_set.push_back(one);
    }
    return {};
  }

  /// The record's directory, so that the job can mark from its first moment. The path of its marks.
  /// An error: the job would have gone on unseen, its output lost.
  Result<std::string> make_record() {
    note_when_and_where(options_, services_.clock, manifest_);
    if (record_) {  // it has waited
      const auto told = record_->write_manifest(manifest_);
      if (!told) tell(RunRemark{told.error().said()});
      return record_->path_of(record_file::marks);
    }
    auto record = RecordWriter::create(options_.state_directory, manifest_,
                                       static_cast<std::size_t>(job_.request.devices));
    if (!record)
      return go_without_record(options_, manifest_, record.error(), container_.is_there(),
                               [this](const RunNews& news) { tell(news); });
    record_.emplace(std::move(*record));
    return record_->path_of(record_file::marks);
  }

  Result<RunOutcome> launch(const std::vector<std::string>& environment) {
    if (!signals_) {
      auto opened = SignalQueue::open();
      if (!opened) return std::unexpected(give_back(std::move(opened).error()));
      signals_.emplace(*std::move(opened));
    }
    auto pipe = make_pipe();
    if (!pipe) return std::unexpected(give_back(std::move(pipe).error()));
    const bool followed =
        options_.detach && waiting_ == Waiting::caller && may_be_started_again(options_);
    if (!followed) (void)adopt_orphans();
    const Instant began = services_.clock.now();
    const auto child = fork_process([&] {
      pipe->read.close();
      return followed ? follow(environment, std::move(pipe->write))
                      : keep(environment, std::move(pipe->write));
    });
    if (!child) return std::unexpected(give_back(child.error()));
    pipe->write.close();
    if (lease_) lease_->let_go();
    if (record_) record_->let_go();
    if (!options_.detach && !may_be_started_again(options_)) {
      // A reader of the job's output sees its end when the job closes it. Our words go to stderr.
      close_inherited_descriptors();
      (void)close_input_and_output();
    }
    const LauncherReport report =
        wait_for_job({.signals = &*signals_,
                      .keeper = *child,
                      .detached = options_.detach && waiting_ == Waiting::caller,
                      .alone = waiting_ == Waiting::follower,
                      .on_started =
                          [&](const ProcessId& job) {
                            started_.job = job;
                            if (callbacks_.on_started) callbacks_.on_started(started_);
                          },
                      .on_news = callbacks_.on_news,
                      .proc = options_.proc,
                      .clock = &services_.clock},
                     std::move(pipe->read));
    return outcome_of(report, began);
  }

  /// The keeper's life.
  int keep(const std::vector<std::string>& environment, Fd to_launcher) {
    RunOptions options = options_;
    options.log = manifest_.log;
    if (container_.is_there()) options.job.command = container_.words();
    const KeeperTask task{.options = &options,
                          .services = &services_,
                          .ledger = ledger_,
                          .lease = lease_ ? &*lease_ : nullptr,
                          .record = record_ ? &*record_ : nullptr,
                          .signals = &*signals_,
                          .manifest = manifest_,
                          .environment = environment,
                          .isolation = isolation_ ? &*isolation_ : nullptr,
                          .container = container_.is_there() ? &container_.container() : nullptr,
                          .binding = binding_ ? &*binding_ : nullptr,
                          .own_ledger = lease_ ? inside_directory(*ledger_, lease_->id()) : ""};
    return keep_run(task, std::move(to_launcher));
  }

  /// The life of the process that stays behind for a detached job. It starts the job in our place
  /// and tells us so, as a keeper would. It goes on after we, whom it told, are gone.
  int follow(const std::vector<std::string>& environment, Fd to_caller) {
    (void)start_session();
    waiting_ = Waiting::follower;
    callbacks_ = {.on_started = [&](const RunStarted& started) {
      const ProcessId& job = started.job;
      (void)write_all(to_caller.get(), fmt::format("started {} {}\n", job.pid, job.start_ticks));
      to_caller.close();
      (void)close_standard_streams();
      close_inherited_descriptors();
    }};
    auto outcome = launch(environment);
    if (to_caller.is_open()) {
      const Error error = !outcome         ? outcome.error()
                          : outcome->error ? *outcome->error
                                           : Error(ErrorCode::io, "the job was not started");
      (void)write_all(to_caller.get(), failed_line(error));
      return 0;
    }
    (void)start_again_while_wanted(
        options_, {}, *std::move(outcome), {},
        [&](const RunOptions& next) { return Run(next, services_, {}, waiting_, signals_).go(); });
    return 0;
  }

  RunOutcome outcome_of(const LauncherReport& report, Instant began) {
    RunOutcome outcome{.how = RunOutcome::How::finished, .id = manifest_.id};
    if (report.not_started) return not_started(*report.not_started);
    if (!report.exit) {
      outcome.how = RunOutcome::How::detached;
      return outcome;
    }
    outcome.exit = *report.exit;
    if (!report.runs_on.empty()) {
      tell(ContainerRunsOn{manifest_.id, report.runs_on, report.exit->signal != 0});
      return outcome;
    }
    outcome.failed = devices_to_leave(options_, manifest_.given.devices, report);
    if (!callbacks_.on_finished && job_.retry_oom == 0) return outcome;  // nobody asks the record
    auto record = record_ ? read_run(record_->directory()) : Result<RunRecord>(RunRecord());
    if (record && outcome.failed.empty()) {
      outcome.next_memory = memory_of_next_start(options_, *record, report);
    }
    if (!callbacks_.on_finished) return outcome;
    callbacks_.on_finished({.record = record && record->end
                                          ? *std::move(record)
                                          : known_of(manifest_, *report.exit, report.because,
                                                     services_.clock.now() - began),
                            .end_wanted = report.end_wanted});
    return outcome;
  }

  const RunOptions& options_;
  const JobSpec& job_;
  const RunServices& services_;
  RunCallbacks callbacks_;
  Waiting waiting_;
  std::optional<SignalQueue>& signals_;
  Ledger* ledger_;
  std::optional<Ledger> inner_ledger_;
  Manifest manifest_;
  CapMeans cap_means_;
  RunStarted started_;
  IsolationFacts isolation_facts_;
  std::optional<IsolationPlan> isolation_;
  ContainerOfRun container_;
  std::optional<Binding> binding_;
  std::optional<Lease> lease_;
  std::optional<RecordWriter> record_;
  PlaceNotes place_;
  std::optional<Error> cannot_wait_;  // what would wait could not be recorded
};

}  // namespace

Result<RunOutcome> run_job(const RunOptions& options, const RunServices& services,
                           const RunCallbacks& callbacks) {
  const Input input;
  std::optional<SignalQueue> signals;
  const auto start = [&](const RunOptions& these) {
    return Run(these, services, callbacks, Waiting::caller, signals).go();
  };
  auto outcome = start(options);
  if (!outcome) return outcome;
  return start_again_while_wanted(options, callbacks, *std::move(outcome), input, start);
}

}  // namespace berth
