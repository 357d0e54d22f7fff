#include "run/keeper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/process.h"
#include "base/text.h"
#include "run/keeper_plan.h"
#include "run/memory_kills.h"
#include "run/sampler.h"
#include "run/tree.h"
#include "world/environment.h"

namespace berth {

namespace {

using std::chrono::milliseconds;

constexpr Duration last_sample_patience = milliseconds(150);
/// Where it matters whether the job ended badly because of its device.
constexpr Duration verdict_patience = std::chrono::seconds(2);
constexpr Duration finish_patience = std::chrono::seconds(3);
/// Somebody may hold the ledger's lock for ever: the prompt is not to wait for that.
constexpr Duration lock_patience = std::chrono::seconds(1);
constexpr Duration lock_patience_at_last = std::chrono::seconds(30);
/// A full disk is often made room on soon after.
constexpr Duration record_patience = std::chrono::minutes(1);
constexpr Duration record_pause = std::chrono::seconds(2);

KeeperTerms terms_of(const KeeperTask& task) {
  const RunOptions& options = *task.options;
  return {.linger = options.linger,
          .hold = options.hold,
          .has_lease = task.lease != nullptr,
          .time_limit = options.time_limit,
          .warning_ahead = options.warning_ahead,
          .warning_signal = options.warning_signal,
          .stop_grace = options.stop_grace,
          .on_gpu_fault = options.on_gpu_fault,
          .fault_signal = options.fault_signal};
}

/// What went wrong before the command's turn came is not to be taken for a missing command.
Error own_failure(const Error& error) { return {ErrorCode::io, error.message()}; }

/// In the child that becomes the job: what differs from the keeper it was forked from. Returns only
/// where the command cannot be run.
Error become_job(const KeeperTask& task) {
  const RunOptions& options = *task.options;
  if (options.detach) {
    auto session = start_session();
    if (!session) return own_failure(session.error());
    const std::string log = options.log.value_or("/dev/null");
    const auto in = open_fd("/dev/null", O_RDONLY);
    // Without waiting: a FIFO that nobody reads would never open.
    const auto out = open_fd(log, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK, 0600);
    if (!in) return own_failure(in.error());
    if (!out) return own_failure(out.error());
    // The job is to wait for a slow reader, as it would if started by hand.
    if (::fcntl(out->get(), F_SETFL, O_APPEND) != 0) {
      return own_failure(system_error("prepare the log " + log, errno));
    }
    if (::dup2(in->get(), 0) < 0 || ::dup2(out->get(), 1) < 0 || ::dup2(out->get(), 2) < 0) {
      return own_failure(system_error("connect the job to its log", errno));
    }
  }
  if (task.lease != nullptr) {
    auto kept = keep_on_exec(task.lease->descriptor());
    if (!kept) return own_failure(kept.error());
  }
  task.signals->restore_original();
  const Error failed = execute(options.command, task.environment,
                               value_of(task.environment, "PATH").value_or(default_search_path));
  if (failed.code() == ErrorCode::not_found) return failed;
  return {ErrorCode::no_permission, failed.message()};
}

class Keeper {
 public:
  Keeper(const KeeperTask& task, Fd to_launcher)
      : task_(task),
        clock_(task.services->clock),
        manifest_(task.manifest),
        to_launcher_(std::move(to_launcher)),
        plan_(terms_of(task), clock_.now()) {}

  int run() {
    (void)adopt_orphans();
    if (task_.options->detach) (void)start_session();
    memory_kills_ = count_memory_kills(task_.options->proc, task_.options->sys);
    auto failed = start_job();
    if (!task_.options->detach) (void)start_session();
    (void)close_standard_streams();
    close_inherited_descriptors(-1);
    std::error_code ignored;  // so that no mount is kept busy by a process that only watches
    std::filesystem::current_path("/", ignored);
    if (!failed) failed = exec_failure();
    if (failed) return give_up(*failed);
    manifest_.keeper = own_process_id();
    manifest_.job = identify_process(job_).value_or(ProcessId{.pid = job_});
    tell(fmt::format("started {} {}", job_, manifest_.job->start_ticks));
    describe();
    start_sampler();
    while (!finished_) turn();
    finish();
    return 0;
  }

 private:
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
      const Error error = become_job(task_);
      const int code = exit_code_of_no_start(error);
      (void)write_all(pipe->write.get(), fmt::format("{} {}", code, error.message()));
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
    release(lock_patience);
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
      const auto said = task_.lease->describe(manifest_.keeper, manifest_.job);
      if (!said) note("lease_not_described", said.error().message());
    }
    if (task_.record == nullptr) return;
    const auto written = task_.record->write_manifest(manifest_);
    if (!written) complain(written.error());
  }

  void start_sampler() {
    const auto started = fork_sampler();
    if (!started) step(SamplerNotStarted{started.error().message()});
  }

  Result<void> fork_sampler() {
    auto down = make_pipe();
    if (!down) return std::unexpected(std::move(down).error());
    auto up = make_pipe();
    if (!up) return std::unexpected(std::move(up).error());
    const SamplerTask sampler{.options = task_.options,
                              .services = task_.services,
                              .manifest = manifest_,
                              .record = task_.record,
                              .keeper = manifest_.keeper.pid};
    const auto child = fork_process([&] {
      if (task_.lease != nullptr) task_.lease->let_go();
      if (task_.record != nullptr) task_.record->let_go();
      down->write.close();
      up->read.close();
      to_sampler_.close();
      from_sampler_.close();
      to_launcher_.close();
      return sample_run(sampler, std::move(down->read), std::move(up->write));
    });
    if (!child) return std::unexpected(child.error());
    sampler_ = *child;
    to_sampler_ = std::move(down->write);
    from_sampler_ = std::move(up->read);
    sampler_text_.clear();
    sampler_ready_ = false;
    return {};
  }

  // --- waiting ---------------------------------------------------------------------------------

  void turn() {
    std::optional<Duration> patience;
    if (const auto deadline = plan_.next_deadline()) patience = *deadline - clock_.now();
    listen(patience);
    while (task_.signals->next()) {
      // Nothing that is sent to the keeper is meant for it; SIGCHLD has woken us.
    }
    while (const auto change = next_child_change()) on_child(*change);
    const auto deadline = plan_.next_deadline();
    if (deadline && *deadline <= clock_.now()) step(TimePassed{});
  }

  void listen(std::optional<Duration> patience) {
    const auto readable =
        wait_readable({task_.signals->descriptor(), from_sampler_.get()}, patience);
    if (readable[1]) hear_sampler();
  }

  void hear_sampler() {
    char piece[4096];
    const ssize_t got = ::read(from_sampler_.get(), piece, sizeof piece);
    if (got <= 0) {
      from_sampler_.close();
      return;
    }
    sampler_text_.append(piece, static_cast<std::size_t>(got));
    for (std::size_t end = sampler_text_.find('\n'); end != std::string::npos;
         end = sampler_text_.find('\n')) {
      on_sampler_line(sampler_text_.substr(0, end));
      sampler_text_.erase(0, end + 1);
    }
  }

  void on_sampler_line(const std::string& line) {
    if (line == "ready") sampler_ready_ = true;
    if (line == "sampled") sampled_ = true;
    if (line.starts_with("lost ")) complain(Error(ErrorCode::io, line.substr(5)));
    if (line.starts_with("fault ")) {
      if (auto news = fault_from_line(line.substr(6))) step(DeviceFaulted{*std::move(news)});
    }
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
      if (change.what == What::ended) {
        job_ended_ = true;
        step(JobEnded{change.exit});
      }
      return;
    }
    if (change.what != What::ended) return;
    if (change.pid == sampler_) {
      sampler_ = 0;
      to_sampler_.close();
      step(SamplerEnded{});
    } else if (job_ended_) {
      survey();
    }
  }

  // --- doing -----------------------------------------------------------------------------------

  void step(const KeeperEvent& event) {
    for (const KeeperAction& action : plan_.step(event, clock_.now())) {
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
    const auto tree = run_processes(manifest_.keeper.pid, task_.options->proc);
    signal_all(tree, order.signal);
    signal_all(tree, SIGCONT);  // a stopped process could not end
  }
  void perform(const TellFault& fault) { tell("fault " + to_line(fault.news)); }
  void perform(const TellUser& told) { tell("say " + told.text); }
  void perform(const NoteEvent& event) { note(event.kind, event.text); }
  void perform(const ReleaseLease&) { release(lock_patience); }
  void perform(const Finish&) { finished_ = true; }

  void perform(const TellEnd& told) {
    const bool badly = told.exit.signal != 0 || told.exit.code != 0;
    if (badly && task_.options->retry_on != RetryOn::never) {
      ask_sampler(sample_now, verdict_patience, Starting::is_waited_for);
    } else {
      ask_sampler(sample_now, last_sample_patience, Starting::is_left_alone);
    }
    end_ = RunEnd{.at = time_now(),
                  .exit = told.exit,
                  .lasted_ms = steady_ms(clock_.now()) - *manifest_.started_steady_ms,
                  .because = told.because};
    if (const auto event = date_change(clock_.wall_now(), end_.at)) perform(*event);
    if (badly) note_memory_kills(told.exit);
    if (released_ || task_.lease == nullptr) end_.released = end_.at;
    end_.cpu_ms = children_cpu_time().count();
    if (task_.record != nullptr) {
      std::error_code unknown;
      // Who wants an end themselves is not to find the job started again.
      if ((end_.because.empty() || end_.because == end_cause::gpu_fault) &&
          std::filesystem::exists(task_.record->path_of(record_file::stop_wish), unknown)) {
        end_.because = end_cause::stopped;
      }
      const RunRecord run{.directory = task_.record->directory(), .manifest = manifest_};
      end_.summary = summary_until(run, end_.at);
      write_end();
    }
    tell(fmt::format("end {} {} {} {}", told.exit.code, told.exit.signal, told.exit.dumped ? 1 : 0,
                     end_.because));
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
    const auto written =
        task_.record->append_event({.at = time_now(), .kind = kind, .text = printable(text)});
    if (!written) complain(written.error());
  }

  void release(Duration patience) {
    if (task_.lease == nullptr || released_) return;
    const auto ended = task_.lease->end(*task_.ledger, patience);
    released_ = ended.has_value();
    if (!ended && patience == lock_patience_at_last) {
      note("lease_not_removed", ended.error().message());
    }
  }

  /// Only the sampler is left as a child: nobody survived, and no look at /proc is needed.
  [[nodiscard]] bool is_alone() const {
    const std::string self = std::to_string(manifest_.keeper.pid);
    const auto children = read_file("/proc/self/task/" + self + "/children");
    if (!children) return false;
    for (const std::string_view word : split(trimmed(*children), ' ')) {
      if (!word.empty() && word != std::to_string(sampler_)) return false;
    }
    return true;
  }

  void survey() {
    TreeSurveyed seen;
    if (!is_alone()) {
      const RunOptions& options = *task_.options;
      const auto tree = run_processes(manifest_.keeper.pid, options.proc);
      seen.survivors = tree.size();
      seen.with_device = static_cast<std::size_t>(
          std::count_if(tree.begin(), tree.end(), [&](const ProcessId& one) {
            return has_device_open(one.pid, options.device_files, options.proc);
          }));
    }
    step(seen);
  }

  /// Of a sampler that has not said anything yet.
  enum class Starting { is_left_alone, is_waited_for };

  /// Asks the sampler for something and hears it out for a while.
  void ask_sampler(char wish, Duration patience, Starting starting) {
    if (sampler_ == 0 || !to_sampler_.is_open()) return;
    sampled_ = false;
    if (!write_all(to_sampler_.get(), std::string(1, wish))) return;
    if (wait_readable({from_sampler_.get()}, Duration(0)).front()) hear_sampler();
    if (!sampler_ready_ && starting == Starting::is_left_alone) return;
    const Instant deadline = clock_.now() + patience;
    while (!sampled_ && from_sampler_.is_open() && clock_.now() < deadline) {
      if (wait_readable({from_sampler_.get()}, deadline - clock_.now()).front()) hear_sampler();
    }
  }

  void finish() {
    to_launcher_.close();
    release(lock_patience_at_last);
    if (task_.record != nullptr) write_end_at_last();
    if (!task_.own_ledger.empty()) {
      std::error_code ignored;
      std::filesystem::remove_all(task_.own_ledger, ignored);
      std::filesystem::remove_all(task_.own_ledger + "-inside", ignored);  // of leases within
    }
    finish_sampler();
  }

  void finish_sampler() {
    if (sampler_ == 0) return;
    // It may still be gathering what the manifest is to say.
    const auto ended = open_pidfd(sampler_);
    (void)write_all(to_sampler_.get(), std::string(1, finish_up));
    if (ended && wait_readable({ended->get()}, finish_patience).front()) return;
    const auto sampler = identify_process(sampler_);
    if (sampler) (void)send_signal(*sampler, SIGKILL);
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
  pid_t sampler_ = 0;
  Fd to_sampler_;
  Fd from_sampler_;
  std::string sampler_text_;
  bool sampler_ready_ = false;  // its first sample is in the file
  bool sampled_ = false;
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
