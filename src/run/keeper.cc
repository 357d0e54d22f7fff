#include "run/keeper.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/lease_file.h"
#include "base/process.h"
#include "base/text.h"
#include "run/become_job.h"
#include "run/handover.h"
#include "run/keeper_plan.h"
#include "run/memory_kills.h"
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

/// The heir, which is this before it has forked the keeper; the keeper; and the heir once more, in
/// the place of a keeper that was killed.
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
    leave_the_callers_surroundings();
    return wait_as_heir(*keeper, pipe->read);
  }

 private:
  int keep() {
    (void)adopt_orphans();
    if (task_.options->detach) (void)start_session();
    auto failed = start_job();
    leave_the_callers_surroundings();
    if (!failed) failed = exec_failure();
    if (failed) return give_up(*failed);
    manifest_.keeper = own_process_id();
    manifest_.job = identify_process(job_).value_or(ProcessId{.pid = job_});
    tell_started();
    describe();
    start_sampler();
    while (!finished_) turn();
    finish();
    return 0;
  }

  void leave_the_callers_surroundings() const {
    if (!task_.options->detach) (void)start_session();
    (void)close_standard_streams();
    close_inherited_descriptors();
    std::error_code ignored;  // so that no mount is kept busy by a process that only watches
    std::filesystem::current_path("/", ignored);
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
    manifest_ = manifest_left();
    manifest_.keeper = own_process_id();
    if (const auto job = identify_process(job_); job && !left.exit) manifest_.job = *job;
    if (manifest_.job) tell_started();
    end_left_ = end_left();
    noted_ = noted_events();
    note("keeper_killed", "the run's keeper was killed: another process has taken its place");
    describe();
    plan_.go_on_after(left.because, clock_.now());
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

  /// With what the sampler has gathered since the start.
  [[nodiscard]] Manifest manifest_left() const {
    if (task_.record == nullptr) return manifest_;
    const auto text = read_file(task_.record->path_of(record_file::manifest));
    auto left = text ? manifest_from_json(*text) : Result<Manifest>(manifest_);
    if (!left) return manifest_;
    left->started = manifest_.started;
    left->started_steady_ms = manifest_.started_steady_ms;
    return *std::move(left);
  }

  [[nodiscard]] std::vector<RunEvent> noted_events() const {
    if (task_.record == nullptr) return {};
    return events_of({.directory = task_.record->directory()});
  }

  /// How the job ended, where that was written already.
  [[nodiscard]] std::optional<RunEnd> end_left() const {
    if (task_.record == nullptr) return std::nullopt;
    const auto text = read_file(task_.record->path_of(record_file::end));
    auto end = text ? end_from_json(*text) : Result<RunEnd>(fail(ErrorCode::not_found, ""));
    return end && end->known ? std::optional(*std::move(end)) : std::nullopt;
  }

  void tell_heir(const std::string& line) {
    if (to_heir_.is_open()) (void)write_without_signal(to_heir_.get(), line);
  }

  // --- the keeper --------------------------------------------------------------------------------

  void tell(const std::string& line) { (void)write_all(to_launcher_.get(), line + "\n"); }

  [[nodiscard]] WallTime time_now() const { return time_in(manifest_, clock_.moment()); }

  void complain(const Error& error) {
    if (std::exchange(complained_, true)) return;
    tell("say the run's record can no longer be written, the job goes on: " +
         printable(error.message()));
  }

  std::optional<Error> start_job() {
    auto pipe = make_pipe();
    if (!pipe) return own_failure(pipe.error());
    const auto job = fork_process([&] {
      tell_heir(job_line(::getpid()));
      const Error error = become_job(task_);
      tell_heir(failed_line(error));
      const int code = exit_code_of_no_start(error);
      (void)write_without_signal(pipe->write.get(), fmt::format("{} {}", code, error.message()));
      return code;
    });
    if (!job) return own_failure(job.error());
    job_ = *job;
    exec_result_ = std::move(pipe->read);
    return std::nullopt;
  }

  /// The pipe closes without a word when the command runs.
  std::optional<Error> exec_failure() {
    const auto said = read_all(exec_result_.get(), 1 << 16);
    exec_result_.close();
    if (!said || said->empty()) return std::nullopt;
    return Error(reason_of_no_start(static_cast<int>(parse_signed(said->substr(0, 3)).value_or(0))),
                 said->substr(4));
  }

  int give_up(const Error& error) {
    const int code = exit_code_of_no_start(error);
    if (job_ > 0) (void)reap(job_);
    (void)release();
    if (task_.record != nullptr) {
      RunEnd end{.at = time_now(), .exit = {.code = code}, .because = "not started"};
      end.released = end.at;
      (void)task_.record->write_end(end);
    }
    tell(fmt::format("failed {} {}", code, printable(error.message())));
    return 0;
  }

  void describe() {
    if (task_.lease != nullptr) {
      const auto held_by = manifest_.cap ? std::optional(manifest_.cap->tier) : std::nullopt;
      const auto said = task_.lease->describe(manifest_.keeper, manifest_.job, held_by);
      if (!said) note("lease_not_described", said.error().message());
    }
    if (task_.record == nullptr) return;
    const auto written = task_.record->write_manifest(manifest_);
    if (!written) complain(written.error());
  }

  void tell_started() { tell(fmt::format("started {} {}", job_, manifest_.job->start_ticks)); }

  void start_sampler() {
    const SamplerTask task{.options = task_.options,
                           .services = task_.services,
                           .manifest = manifest_,
                           .record = task_.record,
                           .keeper = manifest_.keeper.pid};
    const auto started = sampler_.start(task, [this] {
      if (task_.lease != nullptr) task_.lease->let_go();
      if (task_.record != nullptr) task_.record->let_go();
      to_launcher_.close();
      to_heir_.close();
    });
    if (!started) step(SamplerNotStarted{started.error().message()});
  }

  // --- waiting ---------------------------------------------------------------------------------

  void turn() {
    std::optional<Duration> patience;
    if (const auto deadline = plan_.next_deadline()) patience = *deadline - clock_.now();
    listen(patience);
    while (task_.signals->next()) {
      // Nothing that is sent to the keeper is meant for it; SIGCHLD has woken us.
    }
    take_child_changes();
    const auto deadline = plan_.next_deadline();
    if (deadline && *deadline <= clock_.now()) step(TimePassed{});
  }

  void listen(std::optional<Duration> patience) {
    const auto readable =
        wait_readable({task_.signals->descriptor(), sampler_.descriptor()}, patience);
    if (readable[1]) sampler_.hear();
  }

  void take_child_changes() {
    const auto leave_word = [this](const ChildChange& end) {
      if (end.pid == job_) tell_heir(end_line(end.exit));
    };
    std::optional<Exit> end;
    bool has_one_less = false;
    while (const auto change = next_child_change(leave_word)) {
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
    if (line.starts_with("lost ")) complain(Error(ErrorCode::io, line.substr(5)));
    if (line.starts_with("fault ")) {
      if (auto news = fault_from_line(line.substr(6))) step(DeviceFaulted{*std::move(news)});
    }
    if (line == over_cap) step(OverCap{});
    if (!line.starts_with("event ")) return;
    const std::size_t space = line.find(' ', 6);
    if (space == std::string::npos) return;
    note(line.substr(6, space - 6), line.substr(space + 1));
    tell("say " + printable(line.substr(space + 1)));
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
    step(JobEnded{exit});
  }

  // --- doing -----------------------------------------------------------------------------------

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
  }
  void perform(const SignalTree& order) {
    const auto tree = run_processes(manifest_.keeper.pid, task_.options->proc, helpers_);
    signal_all(tree, order.signal);
    signal_all(tree, SIGCONT);  // a stopped process could not end
  }
  void perform(const TellFault& fault) { tell("fault " + to_line(fault.news)); }
  void perform(const TellUser& told) { tell("say " + told.text); }
  void perform(const Note& event) { note(event.kind, event.text); }
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
    tell(fmt::format("end {} {} {} {}", told.exit.code, told.exit.signal, told.exit.dumped ? 1 : 0,
                     end_.because));
  }

  void write_end_of(const TellEnd& told, bool badly) {
    end_ = RunEnd{.at = time_now(),
                  .exit = told.exit,
                  .lasted_ms = steady_ms(clock_.now()) - *manifest_.started_steady_ms,
                  .because = told.because};
    if (const auto event = date_change(clock_.wall_now(), end_.at)) perform(*event);
    if (badly) note_memory_kills(told.exit);
    if (released_ || task_.lease == nullptr) end_.released = end_.at;
    // What a keeper that was killed had waited for nobody can tell any more.
    if (to_heir_.is_open()) end_.cpu_ms = children_cpu_time().count();
    if (task_.record == nullptr) return;
    // Who wants an end themselves is not to find the job started again.
    if (const auto stop = stop_request_in(task_.record->directory());
        stop && (end_.because.empty() || end_.because == end_cause::gpu_fault)) {
      end_.because = end_cause::stopped;
      end_.stopped_by = *stop;
    }
    const RunRecord run{.directory = task_.record->directory(), .manifest = manifest_};
    end_.summary = summary_until(run, end_.at);
    write_end();
  }

  void note_memory_kills(const Exit& exit) {
    const auto event = memory_kill_event(
        memory_kills_, count_memory_kills(task_.options->proc, task_.options->sys), exit);
    if (event) note(event->kind, event->text);
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

  void note(const std::string& kind, const std::string& text) {
    if (task_.record == nullptr) return;
    const bool known = std::ranges::any_of(noted_, [&](const RunEvent& one) {
      return one.kind == kind && one.text == printable(text);
    });
    if (known) return;
    const auto written =
        task_.record->append_event({.at = time_now(), .kind = kind, .text = printable(text)});
    if (!written) complain(written.error());
  }

  /// May be tried again: the lease holds until it is removed, or until nobody of the run lives.
  Result<void> release() {
    if (task_.lease == nullptr || released_) return {};
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
      const RunOptions& options = *task_.options;
      const auto tree = run_processes(manifest_.keeper.pid, options.proc, helpers_);
      // One that has not been reaped may have left a child after that look.
      seen.survivors = std::max<std::size_t>(tree.size(), 1);
      seen.with_device = static_cast<std::size_t>(
          std::count_if(tree.begin(), tree.end(), [&](const ProcessId& one) {
            return has_device_open(one.pid, options.device_files, options.proc);
          }));
    }
    step(seen);
  }

  void finish() {
    to_launcher_.close();
    if (const auto ended = release(); !ended) note("lease_not_removed", ended.error().message());
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
  Fd exec_result_;
  Fd to_heir_;  // open in the keeper alone
  SamplerChild sampler_;
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
