#include "run/keeper.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/lease_file.h"
#include "base/process.h"
#include "base/text.h"
#include "run/become_job.h"
#include "run/container/watch.h"
#include "run/handover.h"
#include "run/keeper_plan.h"
#include "run/memory_kills.h"
#include "run/run_manifest.h"
#include "run/sampler_child.h"
#include "run/tree.h"

namespace berth {

namespace {

using std::chrono::milliseconds;

constexpr Duration last_sample_patience = milliseconds(150);
/// Where it matters whether the job ended badly because of its device.
constexpr Duration verdict_patience = std::chrono::seconds(2);
/// A full disk is often made room on soon after.
constexpr Duration record_patience = std::chrono::minutes(1);
constexpr Duration record_pause = std::chrono::seconds(2);

KeeperTerms terms_of(const KeeperTask& task) {
  return {.job = task.options->job,
          .has_lease = task.lease != nullptr,
          .stop_grace = task.options->stop_grace};
}

/// One object has three roles in turn. It is the heir, before it forks the keeper. The child is the
/// keeper. The parent is the heir again, and takes the place of a killed keeper.
class Keeper {
 public:
  Keeper(const KeeperTask& task, Fd to_launcher)
      : task_(task),
        clock_(task.services->clock),
        manifest_(task.manifest),
        to_launcher_(std::move(to_launcher)),
        plan_(terms_of(task), clock_.now()),
        sampler_(clock_, [this](const std::string& line) { on_sampler_line(line); }) {}

  int run() {
    // Before there is a job: what a killed keeper leaves comes here.
    (void)adopt_orphans();
    if (task_.options->detach) (void)start_session();
    memory_kills_ = count_memory_kills(task_.options->proc, task_.options->sys);
    auto pipe = make_pipe();
    if (!pipe) return give_up(own_failure(pipe.error()));
    const auto keeper = fork_process([&] {
      pipe->read.close();
      to_heir_ = std::move(pipe->write);
      return keep();
    });
    if (!keeper) return give_up(own_failure(keeper.error()));
    pipe->write.close();
    detach_from_caller(*task_.options);
    return wait_as_heir(*keeper, pipe->read);
  }

 private:
  int keep() {
    (void)adopt_orphans();
    if (task_.options->detach) (void)start_session();
    auto started = start_job(task_, [this](const std::string& line) { tell_heir(line); });
    if (started) job_ = started->pid;
    detach_from_caller(*task_.options);
    const auto failed = started ? failure_of(*started) : std::optional(started.error());
    if (failed) return give_up(*failed);
    manifest_.keeper = own_process_id();
    manifest_.job = identify_process(job_).value_or(ProcessId{.pid = job_});
    tell_started();
    describe();
    start_sampler();
    watch_container();
    while (!finished_) turn();
    finish();
    return 0;
  }

  // --- the heir ----------------------------------------------------------------------------------
  int wait_as_heir(pid_t keeper, const Fd& from_keeper) {
    const auto ended = await_end(keeper);
    if (ended && *ended == Exit{}) return 0;
    const auto lines = read_all(from_keeper.get());
    // Not reaped yet: the session with its number is still its own.
    helpers_ = processes_in_session(keeper, task_.options->proc);
    signal_all(helpers_, SIGKILL);
    (void)reap(keeper);
    return take_over(handover_from(lines.value_or("")));
  }

  int take_over(const Handover& left) {
    if (!left.job) {
      return give_up(Error(ErrorCode::io, "the run's keeper was killed before the job started"));
    }
    job_ = *left.job;
    if (left.not_started) return give_up(*left.not_started);
    manifest_ = manifest_left(task_.record, manifest_);
    manifest_.keeper = own_process_id();
    if (const auto job = identify_process(job_); job && !left.exit) manifest_.job = *job;
    if (manifest_.job) tell_started();
    end_left_ = end_left(task_.record);
    noted_ = events_left(task_.record);
    note({"keeper_killed",
          sentence("the run's keeper was killed: another process has taken its place")});
    describe();
    plan_.go_on_after(left.because, clock_.now());
    watch_container();
    if (left.exit) {
      end_job(*left.exit);
    } else {
      start_sampler();
    }
    take_child_changes();  // of which the signals may have come before
    while (!finished_) turn();
    finish();
    return 0;
  }

  void tell_heir(const std::string& line) {
    if (to_heir_.is_open()) (void)write_without_signal(to_heir_.get(), line);
  }

  // --- the keeper --------------------------------------------------------------------------------
  void tell_line(const std::string& line) { (void)write_all(to_launcher_.get(), line); }
  void tell(const std::string& words) { tell_line(words + "\n"); }
  void say(const Sentence& said) { tell("say " + printable(said.english())); }

  [[nodiscard]] WallTime time_now() const { return time_in(manifest_, clock_.moment()); }

  void complain(const Error& error) {
    if (std::exchange(complained_, true)) return;
    say(sentence("the run's record can no longer be written, the job goes on: {}", error.said()));
  }

  int give_up(const Error& error) {
    const int code = exit_code_of_no_start(error);
    if (job_ > 0) (void)reap(job_);
    (void)release();
    if (task_.record != nullptr) {
      RunEnd end{.at = time_now(), .exit = {.code = code}, .released = time_now()};
      end.because = end_cause::not_started;
      (void)task_.record->write_end(end);
    }
    tell_line(failed_line(error));
    return 0;
  }

  void describe() {
    if (task_.lease != nullptr) {
      Claim known{.keeper = manifest_.keeper, .job = manifest_.job};
      if (container_) known.container = container_->container().id;
      // The tier may have turned out not to hold since the claim.
      if (manifest_.cap) known.held_by = manifest_.cap->tier;
      if (const auto said = task_.lease->describe(known); !said)
        note({"lease_not_described", said.error().said()});
    }
    if (task_.record == nullptr) return;
    if (const auto told = task_.record->write_manifest(manifest_); !told) complain(told.error());
  }

  void tell_started() { tell(fmt::format("started {} {}", job_, manifest_.job->start_ticks)); }

  void start_sampler() {
    const SamplerTask task{.options = task_.options,
                           .services = task_.services,
                           .manifest = manifest_,
                           .record = task_.record,
                           .keeper = manifest_.keeper.pid,
                           .has_container = task_.container != nullptr};
    const auto started = sampler_.start(task, [this] {
      if (task_.lease != nullptr) task_.lease->let_go();
      if (task_.record != nullptr) task_.record->let_go();
      to_launcher_.close();
      to_heir_.close();
    });
    if (!started) step(SamplerNotStarted{started.error().said()});
  }

  // --- its container ---------------------------------------------------------------------------
  void watch_container() {
    if (task_.container == nullptr || task_.record == nullptr) return;
    container_.emplace(
        ContainerWatch::Terms{.container = *task_.container,
                              .run = manifest_.id,
                              .environment = task_.environment,
                              .directory = task_.record->directory(),
                              .working_directory = task_.options->working_directory,
                              .keeper = manifest_.keeper.pid,
                              .proc = task_.options->proc,
                              .sys = task_.options->sys},
        ContainerWatch::Told{
            .runs_on =
                [this](const Exit& exit) {
                  tell_line(runs_on_line(exit, container_->container().id));
                },
            .over = [this](const std::optional<Exit>& exit) { container_over(exit); },
            .followed = [this] { describe(); },
            .note = [this](const Note& one) { note(one); }},
        clock_);
  }

  void container_over(const std::optional<Exit>& exit) {
    is_exit_known_ = exit.has_value();
    step(JobEnded{exit.value_or(Exit{.code = exit_code::berth_failed})});
  }

  [[nodiscard]] bool container_may_live() const { return container_ && container_->may_live(); }

  /// By `berth stop`: the engine's client alone must not be ended.
  void hear_stop_request() {
    if (!container_may_live() || std::exchange(is_stop_heard_, true)) return;
    const auto request = stop_request_in(task_.record->directory());
    if (!request || !request->grace) return void(is_stop_heard_ = false);
    step(StopRequested{*request->grace});
  }

  // --- waiting ---------------------------------------------------------------------------------
  [[nodiscard]] std::optional<Duration> patience() const {
    std::optional<Instant> earliest = plan_.next_deadline();
    const auto other = container_ ? container_->next_deadline() : std::nullopt;
    if (other && (!earliest || *other < *earliest)) earliest = other;
    return earliest ? std::optional(*earliest - clock_.now()) : std::nullopt;
  }

  void turn() {
    listen(patience());
    bool is_woken = false;
    // Nothing that is sent to the keeper is meant for it; SIGCHLD has woken us, and `berth stop`.
    while (const auto signal = task_.signals->next()) is_woken |= signal->number != SIGCHLD;
    take_child_changes();
    if (is_woken) hear_stop_request();
    if (container_ && !finished_) container_->pass_time();
    const auto deadline = plan_.next_deadline();
    if (!deadline || *deadline > clock_.now()) return;
    if (task_.lease != nullptr) plan_.know_time_limit(task_.lease->time_limit());
    step(TimePassed{});
  }

  void listen(std::optional<Duration> patience) {
    std::vector<int> descriptors = {task_.signals->descriptor(), sampler_.descriptor()};
    if (container_) {
      const auto more = container_->descriptors();
      descriptors.insert(descriptors.end(), more.begin(), more.end());
    }
    auto readable = wait_readable(descriptors, patience);
    if (readable[1]) sampler_.hear();
    if (!container_) return;
    readable.erase(readable.begin(), readable.begin() + 2);
    container_->hear(readable);
  }

  void take_child_changes() {
    const auto leave_word = [this](const ChildChange& end) {
      if (end.pid == job_) tell_heir(end_line(end.exit));
    };
    std::optional<Exit> end;
    bool has_one_less = false;
    while (const auto change = next_child_change(leave_word)) {
      const bool has_ended = change->what == ChildChange::What::ended;
      if (has_ended && container_ && container_->takes_end_of(change->pid, change->exit)) continue;
      if (change->what != ChildChange::What::ended || change->pid == sampler_.pid()) {
        on_child(*change);
      } else if (change->pid == job_) {
        end = change->exit;
      } else {
        has_one_less = true;
      }
    }
    // Once for all of them: of a crowd that ends, a look at all the others for each takes minutes.
    // Which devices those have open is asked once a second.
    if (end && !job_ended_) {
      end_job(*end);
    } else if (has_one_less && job_ended_ && is_job_over()) {
      step(TreeSurveyed{});
    }
  }

  void on_sampler_line(const std::string& line) {
    if (line.starts_with("lost ")) complain(Error(ErrorCode::io, Sentence(line.substr(5))));
    if (line.starts_with("fault ")) {
      if (auto news = fault_from_line(line.substr(6))) step(DeviceFaulted{*std::move(news)});
    }
    if (line == over_cap) step(OverCap{});
    const auto news = note_from_line(line);
    if (!news) return;
    note(*news);
    say(news->text);
  }

  void on_child(const ChildChange& change) {
    using What = ChildChange::What;
    if (change.pid == job_) {
      if (change.what == What::stopped) step(JobStopped{change.stop_signal});
      if (change.what == What::continued) step(JobContinued{});
    } else if (change.pid == sampler_.pid() && change.what == What::ended) {
      sampler_.has_ended();
      step(SamplerEnded{});
    }
  }

  void end_job(const Exit& exit) {
    job_ended_ = true;
    if (container_) {
      container_->client_ended(exit);
    } else {
      step(JobEnded{exit});
    }
  }

  void step(const KeeperEvent& event) {
    const std::string because = plan_.because();
    const auto actions = plan_.step(event, clock_.now());
    if (plan_.because() != because) tell_heir(ending_line(plan_.because()));
    for (const KeeperAction& action : actions) {
      std::visit([this](const auto& one) { perform(one); }, action);
    }
  }

  void perform(const TellStopped& stopped) { tell(fmt::format("stopped {}", stopped.signal)); }
  void perform(const ContinueLauncher&) { (void)send_signal(launcher_, SIGCONT); }
  void perform(const SurveyTree&) { survey(); }
  void perform(const StartSampler&) { start_sampler(); }
  void perform(const SignalJob& order) {
    if (manifest_.job && !job_ended_) (void)signal_child(job_, order.signal);
    if (job_ended_ && container_may_live()) container_->signal(order.signal);
  }
  void perform(const SignalTree& order) {
    if (container_) {
      order.signal == SIGKILL ? container_->end_now() : container_->end_within(plan_.grace());
    }
    // Its client ends with it; to end that alone would leave the container.
    if (container_may_live()) return;
    const auto tree = run_processes(manifest_.keeper.pid, task_.options->proc, helpers_);
    signal_all(tree, order.signal);
    signal_all(tree, SIGCONT);  // a stopped process could not end
  }
  void perform(const TellFault& fault) { tell("fault " + to_line(fault.news)); }
  void perform(const TellUser& told) { say(told.text); }
  void perform(const Note& event) { note(event); }
  void perform(const ReleaseLease&) { (void)release(); }
  void perform(const Finish&) { finished_ = true; }

  void perform(const TellEnd& told) {
    const bool badly = told.exit.signal != 0 || told.exit.code != 0;
    using Starting = SamplerChild::Starting;
    if (badly && task_.options->job.retry_on != RetryOn::never) {
      sampler_.ask(verdict_patience, Starting::is_waited_for);
    } else {
      sampler_.ask(last_sample_patience, Starting::is_left_alone);
    }
    if (end_left_) {
      end_ = *end_left_;
    } else {
      write_end_of(told, badly);
    }
    tell_line(end_line(told.exit, end_.because));
  }

  void write_end_of(const TellEnd& told, bool badly) {
    end_ = RunEnd{
        .at = time_now(),
        .known = is_exit_known_,
        .exit = told.exit,
        .lasted_ms = steady_ms(clock_.now()) - *manifest_.started_steady_ms,
        .because = told.because,
        .time_limit_ms = released_ ? end_.time_limit_ms : extended_limit(task_.lease, manifest_)};
    if (const auto event = date_change(clock_.wall_now(), end_.at)) perform(*event);
    if (badly) note_memory_kills(told.exit);
    if (released_ || task_.lease == nullptr) end_.released = end_.at;
    // What a keeper that was killed had waited for nobody can tell any more.
    if (to_heir_.is_open()) end_.cpu_ms = children_cpu_time().count();
    if (task_.record == nullptr) return;
    // If a user wanted the end, the job must not be started again.
    if (const auto stop = stop_request_in(task_.record->directory());
        stop && (end_.because.empty() || end_.because == end_cause::gpu_fault)) {
      end_.because = end_cause::stopped;
      end_.stopped_by = stop->by;
    }
    RunRecord run{.directory = task_.record->directory(), .manifest = manifest_};
    end_.summary = summary_until(run, end_.at);
    run.end = end_;
    // The heir does not judge: where that killed its keeper, the end is written all the same.
    const bool judges = badly && task_.services->memory && to_heir_.is_open();
    if (const auto held = judges ? memory_verdict(task_.services->memory, run) : std::nullopt) {
      note({std::string(out_of_gpu_memory_event), *held});
      end_.died_of = out_of_gpu_memory;
    }
    write_end();
  }

  void note_memory_kills(const Exit& exit) {
    const MemoryKills now = count_memory_kills(task_.options->proc, task_.options->sys);
    if (const auto event = memory_kill_event(memory_kills_, now, exit)) note(*event);
  }

  void write_end() {
    end_written_ = task_.record->write_end(end_);
    if (!end_written_) complain(end_written_.error());
  }

  /// The launcher has gone home, nobody waits: until there is room again, or none to be expected.
  void write_end_at_last() {
    const Instant deadline = clock_.now() + record_patience;
    if (!end_.released) {
      end_.released = time_now();
      write_end();
    }
    while (!end_written_ && end_written_.error().code() == ErrorCode::io &&
           clock_.now() < deadline) {
      clock_.wait_until(clock_.now() + record_pause);
      write_end();
    }
  }

  void note(const Note& news) {
    if (task_.record == nullptr) return;
    const bool known = std::ranges::any_of(noted_, [&](const RunEvent& one) {
      return one.kind == news.kind && one.text == printable(news.text.english());
    });
    if (known) return;
    const auto written =
        task_.record->append_event({.at = time_now(), .kind = news.kind, .text = news.text});
    if (!written) complain(written.error());
  }

  /// May be tried again: the lease holds until it is removed, or until nobody of the run lives.
  Result<void> release() {
    if (task_.lease == nullptr || released_) return {};
    end_.time_limit_ms = extended_limit(task_.lease, manifest_);
    auto ended = task_.lease->end(*task_.ledger);
    released_ = ended.has_value();
    return ended;
  }

  [[nodiscard]] bool is_job_over() const {
    return has_no_child() ||
           !may_have_run_processes(manifest_.keeper.pid, task_.options->proc, helpers_);
  }

  void survey() {
    TreeSurveyed seen;
    if (!is_job_over()) {
      const RunOptions& of = *task_.options;
      const auto tree = run_processes(manifest_.keeper.pid, of.proc, helpers_);
      // One that has not been reaped may have left a child after that look.
      seen.survivors = std::max<std::size_t>(tree.size(), 1);
      seen.with_device = count_with_device_open(tree, of.device_files, of.proc);
    }
    step(seen);
  }

  void finish() {
    to_launcher_.close();
    if (const auto ended = release(); !ended) note({"lease_not_removed", ended.error().said()});
    if (task_.record != nullptr) write_end_at_last();
    remove_ledgers_inside(task_.own_ledger);
    sampler_.finish();
  }

  const KeeperTask& task_;
  Clock& clock_;
  Manifest manifest_;
  Fd to_launcher_;
  KeeperPlan plan_;
  MemoryKills memory_kills_;  // before the job
  ProcessId launcher_ = identify_process(::getppid()).value_or(ProcessId{});
  pid_t job_ = 0;
  bool job_ended_ = false;
  Fd to_heir_;  // open in the keeper alone
  SamplerChild sampler_;
  std::optional<ContainerWatch> container_;
  bool is_exit_known_ = true;
  bool is_stop_heard_ = false;
  std::vector<ProcessId> helpers_;  // of a keeper that was killed: its sampler and what that ran
  std::optional<RunEnd> end_left_;
  std::vector<RunEvent> noted_;  // by that keeper: each fault is noted once
  bool released_ = false;
  bool finished_ = false;
  bool complained_ = false;
  RunEnd end_;
  Result<void> end_written_;
};

}  // namespace

int keep_run(const KeeperTask& task, Fd to_launcher) {
  return Keeper(task, std::move(to_launcher)).run();
}

}  // namespace berth
