#include "app/run_words.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <utility>

#include "app/output.h"
#include "app/progress.h"
#include "app/run_judge.h"
#include "base/text.h"
#include "base/tr.h"
#include "diagnose/postmortem/postmortem.h"
#include "record/run_ranks.h"
#include "view/placement_text.h"
#include "view/postmortem_text.h"
#include "view/refresh.h"
#include "view/run_text.h"
#include "view/runs_text.h"

namespace berth {

namespace {

void to_stderr(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

/// Whether somebody who was there is known to have asked for the end.
enum class EndWanted { unknown, yes };

/// Whether a cause was known and told.
bool tell_cause(const Context& context, const RunRecord& record, Gather how, WallTime now,
                EndWanted wanted) {
  GatheredPostmortem gathered = gather_postmortem(context, record, how, now);
  gathered.evidence.end_was_wanted = wanted == EndWanted::yes;
  const auto cause = cause_to_tell(explain_postmortem(gathered.evidence));
  if (cause) to_stderr(render_cause_line(*cause, record, context.err()));
  return cause.has_value();
}

/// Whether its output could tell more than its end does. It must have failed by itself, with a code
/// of its own or by abort(). Only the output says why then. Any other signal is named by the end
/// line.
bool output_could_tell(const RunFinished& finished, const RunRecord& record) {
  const int signal = signal_of(record);
  return !finished.end_wanted && record.end->because.empty() && !record.manifest.log &&
         !run_ranks_of(record) && (signal == 0 || signal == SIGABRT);
}

/// Why the job failed, if the facts at hand say so; its own output went past us. If they do not,
/// how to have the output kept. That is for people alone: a script's stderr stays as it was.
void say_cause(const Context& context, const RunFinished& finished, const RunRecord& record) {
  if (!has_failed(record) || record.directory.empty()) return;
  const EndWanted wanted = finished.end_wanted ? EndWanted::yes : EndWanted::unknown;
  if (tell_cause(context, record, Gather::without_log, record.end->at, wanted)) return;
  if (!context.stderr_is_terminal() || !output_could_tell(finished, record)) return;
  to_stderr(render_output_not_kept(context.err()));
}

void say_what_is_set(const RunStarted& started) {
  if (started.cap) {
    if (const std::string stronger = stronger_tiers_text(*started.cap); !stronger.empty()) {
      complain(trf("no stronger tier limits its memory: {}", stronger));
    }
    if (const std::string said = said_text(*started.cap); !said.empty()) complain(said);
  }
  std::string set;
  for (const auto& [name, value] : started.variables) {
    set += " " + printable(name) + "=" + printable(shell_quoted(value));
  }
  complain(std::string(tr("set for the job:")) + set);
  if (started.container_words.empty()) return;
  complain(sentence_of_container(started.engine, started.container_words));
}

}  // namespace

void WaitingReporter::draw(const WaitingNews& news) {
  const bool in_front = is_in_front();
  // The reasons are said once in full. After that one line keeps itself up to date.
  if (!std::exchange(told_, news)) {
    to_stderr(in_front ? render_waiting_reasons(news, context_.err())
                       : render_waiting_notice(news, context_.err()));
  }
  drawn_ = in_front;
  if (!in_front) return;
  to_stderr(over_line(render_waiting_line(news, context_.err())));
}

void WaitingReporter::operator()(const WaitingNews& news) {
  if (context_.stderr_is_terminal()) {
    draw(news);
    return;
  }
  to_stderr(told_ ? render_waiting_change(*told_, news, context_.err())
                  : render_waiting_notice(news, context_.err()));
  told_ = news;
}

void WaitingReporter::finish() {
  if (std::exchange(drawn_, false) && is_in_front()) to_stderr(over_line({}));
  told_.reset();
}

bool WaitingReporter::has_told(const NotAcquired& refusal) const {
  if (!told_ || told_->placement.possible != refusal.placement.possible) return false;
  WaitingNews now{.position = told_->position,
                  .devices = told_->devices,
                  .placement = refusal.placement,
                  .snapshot = refusal.snapshot};
  return render_waiting_change(*told_, now, context_.err()).empty();
}

RunCallbacks words_of_a_run(const Context& context, WaitingReporter& reporter, Talk talk) {
  const bool quiet = talk == Talk::quiet;
  RunCallbacks words;
  if (!quiet) {
    words.on_waiting = [&reporter](const WaitingNews& news) { reporter(news); };
    words.on_waiting_tells_time = context.stderr_is_terminal();
  }
  words.on_cpu_fallback = [&context, &reporter, quiet](const NotAcquired& refusal) {
    const bool is_told = reporter.has_told(refusal);
    reporter.finish();
    if (quiet) return;
    if (!is_told) to_stderr(render_refusals(refusal.placement, refusal.snapshot, context.err()));
    complain(tr("no device: running on the CPU, as --or-cpu says"));
  };
  words.on_starting = [&context, &reporter, talk](const RunStarted& started) {
    reporter.finish();
    if (talk == Talk::quiet) return;
    to_stderr(render_started(started, context.sources().simulated));
    if (!started.isolation_costs.empty()) {
      complain(sentence_of_isolation(started, talk == Talk::verbose));
    }
    if (talk == Talk::verbose) {
      say_what_is_set(started);
    } else if (!started.not_gone_along.empty()) {  // else it is among what is set
      complain(started.not_gone_along.shown());
    }
  };
  words.on_news = [&reporter](const RunNews& news) {
    reporter.finish();
    for (const std::string& sentence : sentences_of(news)) complain(sentence);
  };
  if (quiet) return words;
  words.on_finished = [&context](const RunFinished& finished) {
    RunRecord record = finished.record;
    // A run on the CPU was given no snapshot that could say so.
    if (!record.manifest.given.simulated) {
      record.manifest.given.simulated = context.sources().simulated;
    }
    to_stderr(render_end_line(record, context.err()));
    say_cause(context, finished, record);
  };
  return words;
}

void say_why(Context& context, const RunRecord& record) {
  if (!has_failed(record)) return;
  // What its log says then follows from that mostly: ranks that miss each other, an interrupt.
  const std::string& because = record.end->because;
  if (because == end_cause::stopped || because == end_cause::time_limit ||
      because == end_cause::memory_cap) {
    return;
  }
  (void)tell_cause(context, record, Gather::all, context.clock().wall_now(), EndWanted::unknown);
}

void say_no_other_device(const Context& context, const RunOptions& options,
                         const NotAcquired& refusal) {
  complain(tr("no other device for the job: it is not started again"));
  say_refusal(context, options, refusal);
}

void say_refusal(const Context& context, const RunOptions& options, const NotAcquired& refusal,
                 Devices devices) {
  if (devices == Devices::untold) {
    say_simulated(refusal.snapshot.simulated);
    const WaitingNews why{.devices = options.job.request.devices,
                          .placement = refusal.placement,
                          .snapshot = refusal.snapshot};
    to_stderr(render_waiting_reasons(why, context.err()));
  }
  const bool is_inside = !context.variable("BERTH_LEASE").value_or("").empty();
  if (is_inside && refusal.why == NotAcquired::Why::none_free) {
    return complain(
        tr("no device of this lease is free: what was begun in it has them until it ends"));
  }
  if (const auto advice = advice_after(refusal, options.job); !advice.empty()) complain(advice);
}

}  // namespace berth
