// `berth logs`, `berth wait`, `berth stop`, `berth mark`: what one does with a run under way.

#include <unistd.h>

#include <algorithm>
#include <set>

#include "app/past_runs.h"
#include "app/progress.h"
#include "app/rank_state.h"
#include "app/records.h"
#include "app/run_words.h"
#include "app/slurm_options.h"
#include "app/terminal.h"
#include "app/verb.h"
#include "base/text.h"
#include "base/tr.h"
#include "record/record_writer.h"
#include "record/run_container.h"
#include "record/run_ranks.h"
#include "record/run_slurm.h"
#include "run/container/left.h"
#include "run/run.h"
#include "run/unrecorded.h"
#include "view/runs_text.h"

namespace berth {

namespace {

void add_run_name(Options& options, std::string& name) {
  options.word("run", name,
               "a run's id, the beginning or end of one, or last: the run that began last");
}

/// A waiting run has written nothing yet. Its output once it is started is the job's.
void say_of_its_wait(Context& context, const RunRecord& run) {
  if (run.state != RunState::waiting) return;
  complain(trf("run {} has not started: it waits, {}", run.manifest.id,
               wait_text(run, context.clock().moment())));
}

/// As it stands now: it was found while it may still have waited. False: there is a job, or was.
bool say_that_it_never_started(const RunRecord& found) {
  if (found.directory.empty()) return false;
  const auto now = read_run(found.directory, found.owner);
  if (!now || !was_never_started(*now)) return false;
  complain(trf("run {} {}", now->manifest.id, state_text(*now)));
  return true;
}

class LogsVerb final : public Verb {
 public:
  void declare(Options& options) override {
    add_run_name(options, name_);
    options.flag("-f,--follow", follow_, "go on until the run has ended");
    options.filled_value("--rank", rank_, "of a run with --ddp: what this rank printed", "K");
  }
  int run(Context& context, const std::vector<std::string>&) override {
    auto found = find_run(context, name_);
    if (!found) return report(found.error());
    say_simulated(found->manifest.given.simulated);
    say_of_its_wait(context, *found);
    if (!rank_.empty()) {
      const auto ranks = run_ranks_of(*found);
      const auto rank = parse_unsigned(rank_);
      if (!ranks || !rank || *rank >= ranks->ranks.size()) {
        complain(ranks ? trf("run {} has the ranks 0 to {}, no {}", found->manifest.id,
                             ranks->ranks.size() - 1, printable(rank_))
                       : trf("run {} has no ranks: leave out --rank", found->manifest.id));
        return exit_code::usage;
      }
      found = with_log_of_rank(*std::move(found), static_cast<int>(*rank));
    }
    if (const auto said = logs_of_container(*found)) return *said;
    const InterruptNote interrupt;
    SlurmPolling polling(*found, slurm_client(context));
    const auto read = read_log(
        *found, follow_ ? Follow::yes : Follow::no, context.clock(),
        [](std::string_view text) {
          print(text);
          std::fflush(stdout);
        },
        [&] {
          polling.poll();
          return InterruptNote::signal() != 0;
        });
    if (!read) return report(read.error());
    say_that_it_never_started(*found);
    return exit_code::ok;
  }

 private:
  /// The engine has it, where the run itself keeps no output. Nothing: it is no such run.
  [[nodiscard]] std::optional<int> logs_of_container(const RunRecord& run) const {
    const auto container = run_container_in(run.directory);
    if (!container || run.manifest.log || container->id.empty()) return std::nullopt;
    if (run.owner.uid != ::geteuid()) return std::nullopt;
    std::vector<std::string> words = {"logs"};
    if (follow_) words.emplace_back("-f");
    words.push_back(container->id);
    return report(ask_engine(*container, std::move(words)));
  }

  std::string name_;
  std::string rank_;
  bool follow_ = false;
};

class WaitVerb final : public Verb {
 public:
  void declare(Options& options) override {
    add_run_name(options, name_);
    options.flag("-q,--quiet", quiet_, "do not say why it failed");
  }
  [[nodiscard]] int usage_code() const override { return exit_code::berth_failed; }
  int run(Context& context, const std::vector<std::string>&) override {
    const auto found = find_run_under_way(context, name_);
    if (!found) return report(found.error(), usage_code());
    const InterruptNote interrupt;
    SlurmPolling polling(*found, slurm_client(context));
    const auto end = wait_for_run(*found, context.clock(), [&] {
      polling.poll();
      return InterruptNote::signal() != 0;
    });
    if (InterruptNote::signal() != 0) return 128 + InterruptNote::signal();
    if (!end) return report(end.error(), usage_code());
    if (!quiet_ && !say_that_it_never_started(*found)) say_why_of(context, *found);
    return shell_exit_code(*end);
  }

 private:
  /// As it stands now: it was found while it may still have run.
  static void say_why_of(Context& context, const RunRecord& found) {
    const auto ended = read_run(found.directory, found.owner);
    if (ended) say_why(context, *ended);
  }

  std::string name_;
  bool quiet_ = false;
};

class StopVerb final : public Verb {
 public:
  void declare(Options& options) override {
    add_run_name(options, name_);
    options.filled_value("--grace", grace_, "how long to leave it between TERM and KILL (10s)",
                         "TIME");
    options.flag("--all", all_, "all of your runs that are under way");
    options.filled_value(
        "--slurm-job", slurm_job_,
        "your runs in this Slurm job, and containers that they left, on this machine", "JOB");
    options.flag("--stacks", stacks_,
                 "show first where its processes stand, by py-spy where there is one");
    options.flag("-q,--quiet", quiet_, "say nothing but what went wrong");
  }
  int run(Context& context, const std::vector<std::string>&) override {
    const auto grace = parse_duration(grace_);
    if (!grace) return report(Error(grace.error()).at("--grace"), exit_code::usage);
    if (all_) return stop_all(context, *grace);
    if (!slurm_job_.empty()) return stop_in_slurm_job(context, *grace);
    if (name_.empty()) {
      complain(tr("stop: which run? berth runs lists them; berth stop last, or berth stop --all"));
      return exit_code::usage;
    }
    const auto found = find_run_under_way(context, name_);
    if (!found) return report(found.error());
    return stop(context, latest_start_of(context, *found), *grace);
  }

 private:
  int stop_all(Context& context, std::chrono::milliseconds grace) const {
    const auto state = records_directory(context);
    const auto list = state ? list_runs(*state) : Result<RunList>(std::unexpected(state.error()));
    int code = list ? exit_code::ok : report(list.error());
    std::set<std::string> recorded;
    for (const RunRecord& record : list ? list->runs : std::vector<RunRecord>()) {
      recorded.insert(record.manifest.id);
      const bool is_under_way =
          record.state == RunState::running || record.state == RunState::waiting ||
          (record.state == RunState::elsewhere && run_slurm_in(record.directory));
      if (is_under_way) code = std::max(code, stop(context, record, grace));
    }
    return std::max(code, stop_unrecorded(context, recorded, grace));
  }

  /// For an Epilog: by then Slurm has ended what it knows of the job.
  int stop_in_slurm_job(Context& context, std::chrono::milliseconds grace) const {
    const auto state = records_directory(context);
    const auto list = state ? list_runs(*state) : Result<RunList>(std::unexpected(state.error()));
    if (!list) return report(list.error());
    int code = exit_code::ok;
    for (const RunRecord& record :
         runs_of_slurm_job(slurm_job_, list->runs, left_containers(*state))) {
      const auto stopped = stop_run(record, grace, context.clock());
      code = std::max(code, stopped ? tell(record, *stopped) : report(stopped.error()));
    }
    return code;
  }

  /// Runs that have no record are known by their leases.
  int stop_unrecorded(Context& context, const std::set<std::string>& recorded,
                      std::chrono::milliseconds grace) const {
    int code = exit_code::ok;
    for (const Claim& claim : context.read_ledger().claims) {
      if (claim.run.empty() || claim.uid != ::getuid() || recorded.contains(claim.run)) continue;
      code = std::max(code, stop(context, run_of_claim(claim), grace));
    }
    return code;
  }

  /// The id of a job's first start means its start that is under way.
  static RunRecord latest_start_of(const Context& context, RunRecord record) {
    if (record.state != RunState::ended) return record;
    const auto state = records_directory(context);
    const auto list = state ? list_runs(*state) : Result<RunList>(std::unexpected(state.error()));
    if (!list) return record;  // what was named is still what was asked for
    for (auto later = list->runs.rbegin(); later != list->runs.rend(); ++later) {
      if (later->manifest.retry_of == record.manifest.id) record = *later;
    }
    return record;
  }

  int stop(Context& context, const RunRecord& record, std::chrono::milliseconds grace) const {
    const auto slurm = run_slurm_in(record.directory);
    if (stacks_ && record.state == RunState::running) {
      // Before anything of it ends: its end is the one that was asked for.
      const bool is_ours = record.owner.uid == ::geteuid() && !record.directory.empty();
      if (is_ours && note_stop_request(record.directory, grace)) show_stacks(context, record);
    }
    const auto stopped = stopped_by(context, record, slurm, grace);
    return stopped ? tell(record, *stopped) : report(stopped.error());
  }

  static Result<StopResult> stopped_by(Context& context, const RunRecord& record,
                                       const std::optional<RunSlurm>& slurm,
                                       std::chrono::milliseconds grace) {
    if (slurm) return stop_slurm_run(record, *slurm, grace, slurm_client(context));
    const std::string id = record.manifest.id;
    ProgressClock clock(context, trf("waiting for run {} to end; then it is killed", id), grace);
    return stop_run_and_begun(place_of_runs(context).value_or(""), record, grace, clock);
  }

  int tell(const RunRecord& record, StopResult stopped) const {
    if (quiet_ || say_that_it_never_started(record)) return exit_code::ok;
    switch (stopped) {
      case StopResult::had_ended:
        complain(trf("run {} had ended already", record.manifest.id));
        break;
      case StopResult::not_again:
        complain(trf("run {} had ended already; it is not started again", record.manifest.id));
        break;
      case StopResult::ended_by_term:
        complain(trf("run {} has ended", record.manifest.id));
        break;
      case StopResult::ended_by_kill:
        complain(trf("run {} did not end in time and was killed", record.manifest.id));
        break;
    }
    return exit_code::ok;
  }

  std::string name_;
  std::string grace_ = "10s";
  bool all_ = false;
  std::string slurm_job_;
  bool stacks_ = false;
  bool quiet_ = false;
};

class MarkVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.required_words("text", words_, "what to note: epoch=3 loss=0.12");
  }
  int run(Context& context, const std::vector<std::string>&) override {
    const auto marks = context.variable("BERTH_MARKS");
    if (!marks || marks->empty()) {
      complain(
          tr("mark: this is no run of berth (BERTH_MARKS is not set); start the job with berth "
             "run"));
      return exit_code::failed;
    }
    std::string text;
    for (const std::string& one : words_) text += (text.empty() ? "" : " ") + one;
    const auto noted = append_mark(*marks, context.clock().wall_now(), text);
    return noted ? exit_code::ok : report(noted.error());
  }

 private:
  std::vector<std::string> words_;
};

}  // namespace

std::unique_ptr<Verb> make_logs() { return std::make_unique<LogsVerb>(); }
std::unique_ptr<Verb> make_wait() { return std::make_unique<WaitVerb>(); }
std::unique_ptr<Verb> make_stop() { return std::make_unique<StopVerb>(); }
std::unique_ptr<Verb> make_mark() { return std::make_unique<MarkVerb>(); }

}  // namespace berth
