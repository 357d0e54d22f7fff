// `berth sweep`: one run for each point of a grid of parameters, so many at a time. Its runs are
// ordinary detached runs with names of their own. So whatever is killed, the same command finds
// them again and goes on.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "app/records.h"
#include "app/run_options.h"
#include "app/terminal.h"
#include "app/verb.h"
#include "base/fd.h"
#include "base/line_buffer.h"
#include "base/process.h"
#include "base/text.h"
#include "base/tr.h"
#include "view/paint.h"
#include "view/placement_text.h"
#include "view/refresh.h"
#include "view/sweep_text.h"

namespace berth {

namespace {

constexpr Duration looked_every = std::chrono::milliseconds(500);
/// A run that waits answers at once; a look at a busy driver may take a while.
constexpr Duration patience_to_start = std::chrono::minutes(5);
/// A killed process is gone within this time, unless the kernel keeps it.
constexpr Duration patience_with_the_killed = std::chrono::seconds(1);

class SweepVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.repeated("--set", set_, "a parameter: lr=0.1,0.01 or seed=1..3; {lr} in the command",
                     "NAME=VALUES");
    options.number("-j,--jobs", jobs_,
                   "so many at a time, waiting ones included; by itself as many "
                   "as there are devices",
                   "N", 1, 4096);
    options.flag("--failed", failed_, "start those again, too, that ended badly");
    options.flag("--again", again_, "start all of them again");
    options.flag("--csv", csv_, "the table at the end as CSV");
    options.choice("--on", on_, "here, or by slurm as one array", "WHERE", {"here", "slurm"});
    options.hidden_value("--point-in", point_in_);
    request_.declare(options, MayWait::yes);
    options.begin_group("The job's life");
    request_.declare_part(options, JobPart::life);
  }
  [[nodiscard]] bool decides_by_config() const override { return true; }
  [[nodiscard]] std::vector<OptionalValue> optional_values() const override {
    return RequestOptions::optional_values();
  }
  [[nodiscard]] int usage_code() const override { return exit_code::berth_failed; }
  [[nodiscard]] bool takes_command() const override { return true; }
  [[nodiscard]] std::string notes() const override {
    return std::string(tr(
        "berth sweep --set lr=0.1,0.01 --set seed=1..3 -- python train.py --lr {lr} --seed {seed}\n"
        "The same command in the same folder goes on where it was."));
  }

  int run(Context& context, const std::vector<std::string>& command) override {
    if (command.empty() || set_.empty()) {
      complain(tr("sweep: write: berth sweep --set lr=0.1,0.01 -- python train.py --lr {lr}"));
      return usage_code();
    }
    for (const std::string& text : set_) {
      auto parameter = parse_parameter(text);
      if (!parameter) return report(parameter.error(), usage_code());
      parameters_.push_back(*std::move(parameter));
    }
    auto points = points_of(parameters_, command);
    if (!points) return report(points.error(), usage_code());
    points_ = *std::move(points);
    auto job = request_.job(context);
    if (!job) return report(job.error(), usage_code());
    if (!point_in_.empty()) return become_point(context);
    if (request_.dry_run()) return tell_points();
    if (on_ == "slurm") return submit(context, command);
    auto records = records_directory(context);
    if (!records) return report(records.error(), usage_code());
    records_ = *std::move(records);
    name_sweep(command);
    auto alone = SweepLocks::take(records_, name_);
    if (!alone) return report(alone.error(), usage_code());
    locks_ = *std::move(alone);
    const InterruptNote interrupt;
    if (const int signal = await_no_start(context); signal != 0) return 128 + signal;
    if (auto found = find_earlier(); !found) return report(found.error(), usage_code());
    if (jobs_ == 0) {
      const auto snapshot = context.look_without_claims(Depth::placement);
      jobs_ = snapshot ? static_cast<int>(points_at_a_time(*snapshot, *job)) : 1;
    }
    return go(context, job->wait ? job->wait->count() == 0 : false);
  }

 private:
  /// The array's task that this is: the variable has its number. Returns where that fails.
  int become_point(const Context& context) const {
    const auto number = parse_unsigned(context.variable(point_in_.c_str()).value_or(""));
    if (!number || *number >= points_.size()) {
      complain(trf("sweep: {} is not the number of a point", printable(point_in_)));
      return usage_code();
    }
    const std::string path = context.search_path();
    return report(execute(points_[*number].command, context.environment(), path), usage_code());
  }

  /// One job of Slurm's with a task for each point, which begins by looking up its command. What is
  /// under way and what is over Slurm and each task's record know.
  int submit(const Context& context, const std::vector<std::string>& command) const {
    if (failed_ || again_ || csv_) {
      complain(
          tr("sweep --on slurm: the points are an array there: --failed, --again and --csv are "
             "for sweeps that run here"));
      return usage_code();
    }
    const std::string own = own_program().value_or(link_to_program);
    const std::string at_once = jobs_ == 0 ? "" : "%" + std::to_string(jobs_);
    std::vector<std::string> words = {own};
    for (std::string& word : context.typed_globals()) words.push_back(std::move(word));
    words.emplace_back("submit");
    words.push_back("--array=0-" + std::to_string(points_.size() - 1) + at_once);
    for (std::string& word : request_.words()) words.push_back(std::move(word));
    for (const char* word : {"--", own.c_str(), "sweep", "--point-in=SLURM_ARRAY_TASK_ID"}) {
      words.emplace_back(word);
    }
    for (const std::string& text : set_) words.push_back("--set=" + text);
    words.emplace_back("--");
    words.insert(words.end(), command.begin(), command.end());
    return report(execute(words, context.environment(), default_search_path), usage_code());
  }

  int tell_points() const {
    for (const SweepPoint& point : points_) print(printable(shell_joined(point.command)) + "\n");
    return exit_code::ok;
  }

  void name_sweep(const std::vector<std::string>& command) {
    std::vector<std::string> words = request_.words();
    words.insert(words.end(), command.begin(), command.end());
    name_.sweep = sweep_id(parameters_, words, read_link("/proc/self/cwd").value_or(""));
  }

  /// A launcher that a killed sweep started for a point may not have ended yet. Only its end shows
  /// whether that point was started. 0, or the signal that came.
  int await_no_start(Context& context) const {
    Clock& clock = context.clock();
    const Instant told_at = clock.now() + patience_with_the_killed;
    for (bool is_told = false; locks_.is_being_started() && InterruptNote::signal() == 0;) {
      if (!is_told && clock.now() > told_at) {
        complain(tr("sweep: the start of a point was ended and does not end; waiting for it"));
        is_told = true;
      }
      InterruptNote::wait_until(clock.now() + std::chrono::milliseconds(5), clock);
    }
    return InterruptNote::signal();
  }

  /// Runs of the same sweep that there are already, the last time through alone.
  Result<void> find_earlier() {
    for (const SweepPoint& point : points_) rows_.push_back({.point = &point});
    const auto list = list_runs(records_);
    if (!list) return std::unexpected(list.error());
    const StartAgain again = again_    ? StartAgain::all
                             : failed_ ? StartAgain::what_failed
                                       : StartAgain::cut_short;
    take_earlier_runs(rows_, name_, list->runs, again);
    return {};
  }

  int go(Context& context, bool needs_wait) {
    std::optional<SweepCount> told;
    const bool is_any_to_start =
        std::ranges::any_of(rows_, [](const SweepRow& row) { return !row.run; });
    int failure = 0;
    while (true) {
      read_again(rows_, records_, context.clock().wall_now());
      if (failure == 0 && InterruptNote::signal() == 0) failure = start_more(context, needs_wait);
      const SweepCount count = count_of(rows_);
      if (told != count) tell_progress(context, count);
      told = count;
      const bool is_all = count.ended == count.all;
      const bool is_stopped = failure != 0 && count.running + count.waiting == 0;
      if (is_all || is_stopped || InterruptNote::signal() != 0) break;
      InterruptNote::wait_until(context.clock().now() + looked_every, context.clock());
    }
    if (context.stderr_is_terminal()) std::fputs("\n", stderr);
    const Moment now = context.clock().moment();
    const auto& simulated = context.sources().simulated;
    if (csv_) say_simulated(simulated);
    print(csv_ ? sweep_csv(parameters_, rows_, now)
               : simulated_line(simulated, context.out()) +
                     render_sweep(parameters_, rows_, now, context.out_uncut()));
    if (const int signal = InterruptNote::signal(); signal != 0) {
      complain(
          tr("what runs goes on; the same command goes on with the rest, and `berth stop` ends "
             "a run"));
      return 128 + signal;
    }
    if (failure != 0) return failure;
    if (!is_any_to_start) {
      complain(
          tr("sweep: nothing was left to start; --failed starts again what ended badly, --again "
             "all of it"));
    }
    return count_of(rows_).badly == 0 ? exit_code::ok : exit_code::failed;
  }

  /// 0: as many as may be are under way; else what the start of one exited with.
  int start_more(Context& context, bool needs_wait) {
    const SweepCount count = count_of(rows_);
    std::size_t under_way = count.running + count.waiting;
    for (std::size_t i = 0; i < rows_.size() && under_way < static_cast<std::size_t>(jobs_); ++i) {
      if (rows_[i].run) continue;
      if (const int code = start(context, i, needs_wait); code != 0) return code;
      ++under_way;
      if (InterruptNote::signal() != 0) break;
    }
    return 0;
  }

  int start(Context& context, std::size_t point, bool needs_wait) {
    name_.point = point;
    std::vector<std::string> words = {link_to_program, "run", "-d", "-q", "--name=" + typed(name_)};
    for (std::string& word : request_.words()) words.push_back(std::move(word));
    const bool is_not_to_wait = std::ranges::find(words, "--no-wait") != words.end();
    if (needs_wait && !is_not_to_wait) words.emplace_back("--wait=forever");
    words.emplace_back("--");
    for (const std::string& word : rows_[point].point->command) words.push_back(word);
    auto answer = ask_to_start(context, words);
    if (!answer) return report(answer.error(), usage_code());
    const std::string id(trimmed(answer->out));
    auto run = answer->exit == Exit{} ? load_run(records_, id) : await_start(context);
    if (run) {
      rows_[point].run = *std::move(run);
      return 0;
    }
    if (InterruptNote::signal() != 0) return 0;
    complain(trf("sweep: point {} could not be started; the rest is not tried", point + 1));
    const int code = answer->exit ? shell_exit_code(*answer->exit) : usage_code();
    return code != 0 ? code : usage_code();
  }

  /// What it says is told at once; a signal ends it, as long as there is no record of it.
  Result<ChildAnswer> ask_to_start(Context& context, std::vector<std::string> words) {
    const Fd lock = locks_.hold_start();
    if (lock.is_open()) {
      words.insert(words.begin() + 4, "--start-lock=" + std::to_string(lock.get()));
    }
    const std::vector<std::string> globals = context.typed_globals();
    words.insert(words.begin() + 1, globals.begin(), globals.end());
    LineBuffer lines;
    auto answer = hear_child(
        [&] {
          (void)keep_on_exec(lock.get());
          const Error error = execute(words, context.environment(), "");
          (void)write_all(STDERR_FILENO, error.shown());
          return 127;
        },
        context.clock(), patience_to_start,
        {.on_err = [&](std::string_view piece) { pass_on(context, lines, piece); },
         .is_enough = [] { return InterruptNote::signal() != 0; }});
    if (!lines.is_empty()) pass_on(context, lines, "\n");
    said_before_.merge(said_now_);
    is_said_before_ = false;
    return answer;
  }

  /// A message about an earlier point is not repeated for each: a sentence begins at a line's
  /// begin.
  void pass_on(const Context& context, LineBuffer& lines, std::string_view piece) {
    lines.add(piece);
    while (const auto line = lines.next()) {
      const std::string one = *line + "\n";
      if (!one.starts_with(' ')) is_said_before_ = said_before_.contains(one);
      said_now_.insert(one);
      if (is_said_before_) continue;
      if (context.stderr_is_terminal()) {
        std::fputs(over_line({}).c_str(), stderr);
      }
      std::fputs(one.c_str(), stderr);
    }
    std::fflush(stderr);
  }

  /// One that was ended at its start: it may have come as far as its record, and goes on then.
  Result<RunRecord> await_start(Context& context) {
    Clock& clock = context.clock();
    const Instant deadline = clock.now() + patience_with_the_killed;
    while (locks_.is_being_started() && clock.now() < deadline) {
      clock.wait_until(clock.now() + std::chrono::milliseconds(5));
    }
    auto list = list_runs(records_);
    if (!list) return std::unexpected(std::move(list).error());
    if (auto run = started_all_the_same(name_, list->runs)) return *std::move(run);
    return fail(ErrorCode::not_found, "");
  }

  static void tell_progress(const Context& context, const SweepCount& count) {
    std::string line = progress_line(count, context.err());
    if (context.stderr_is_terminal()) {
      // The last column stays free: a terminal would begin a new line there.
      line = cut_to_width(line, std::max(1, context.err().width - 1), !context.err().utf8);
      std::fputs(over_line(line).c_str(), stderr);
    } else {
      std::fputs(("berth: " + line + "\n").c_str(), stderr);
    }
    std::fflush(stderr);
  }

  RequestOptions request_;
  std::vector<std::string> set_;
  int jobs_ = 0;
  bool failed_ = false;
  bool again_ = false;
  bool csv_ = false;
  std::string on_;
  std::string point_in_;  // the variable that has a task's number; of berth's own making

  std::vector<SweepParameter> parameters_;
  std::vector<SweepPoint> points_;
  std::vector<SweepRow> rows_;
  std::string records_;
  SweepName name_;
  SweepLocks locks_;
  std::set<std::string> said_before_;  // lines, of the starts before
  std::set<std::string> said_now_;
  bool is_said_before_ = false;  // the sentence that is passed on
};

}  // namespace

std::unique_ptr<Verb> make_sweep() { return std::make_unique<SweepVerb>(); }

}  // namespace berth
