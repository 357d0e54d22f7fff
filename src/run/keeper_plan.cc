#include "run/keeper_plan.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "record/run_record.h"

namespace berth {

namespace {
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration survey_pause = seconds(1);
constexpr Duration kill_pause = seconds(1);
constexpr Duration longest_sampler_pause = seconds(60);

bool is_due(const std::optional<Instant>& at, Instant now) { return at && *at <= now; }
}  // namespace

std::optional<Note> date_change(WallTime is, WallTime expected) {
  constexpr std::int64_t corrected_ms = 5000;
  const std::int64_t moved = is.unix_ms - expected.unix_ms;
  if (moved > corrected_ms) {
    return Note{
        "date_changed",
        sentence("the machine's date was set forward (or it slept): the times here go on as if "
                 "it had not been")};
  }
  if (moved < -corrected_ms) {
    return Note{
        "date_changed",
        sentence("the machine's date was set back: the times here go on as if it had not been")};
  }
  return std::nullopt;
}

KeeperPlan::KeeperPlan(KeeperTerms terms, Instant started) : started_(started), terms_(terms) {
  plan_end();
}

void KeeperPlan::know_time_limit(std::optional<milliseconds> limit) {
  const bool is_later = limit && terms_.job.time_limit && *limit > *terms_.job.time_limit;
  if (!is_later || !term_at_) return;
  terms_.job.time_limit = limit;
  if (because_ == end_cause::warned) because_.clear();
  plan_end();
}

void KeeperPlan::plan_end() {
  if (!terms_.job.time_limit) return;
  term_at_ = started_ + *terms_.job.time_limit;
  // A short limit leaves no minute for a warning: a tenth of it then.
  const Duration ahead = std::min(terms_.job.warning_ahead, *terms_.job.time_limit / 10);
  if (terms_.job.warning_signal != 0) warn_at_ = *term_at_ - ahead;
}

void KeeperPlan::go_on_after(std::string_view because, Instant now) {
  if (because.empty()) return;
  because_ = because;
  warn_at_.reset();
  if (because_ == end_cause::warned) return;
  term_at_.reset();
  kill_at_ = now + terms_.stop_grace;
}

std::optional<Instant> KeeperPlan::next_deadline() const {
  std::optional<Instant> earliest;
  if (finished_) return earliest;
  take_earlier(earliest, warn_at_);
  take_earlier(earliest, term_at_);
  take_earlier(earliest, kill_at_);
  take_earlier(earliest, survey_at_);
  take_earlier(earliest, sampler_at_);
  return earliest;
}

std::vector<KeeperAction> KeeperPlan::step(const KeeperEvent& event, Instant now) {
  Actions actions;
  // The last look at the devices comes after the job's end.
  if (const auto* fault = std::get_if<DeviceFaulted>(&event)) on_fault(fault->news, now, actions);
  if (finished_) return actions;
  if (const auto* stopped = std::get_if<JobStopped>(&event)) {
    actions.push_back(TellStopped{stopped->signal});
  } else if (std::holds_alternative<JobContinued>(event)) {
    actions.push_back(ContinueLauncher{});
  } else if (const auto* end = std::get_if<JobEnded>(&event)) {
    ended_ = end->exit;
    // Most signals end a job that does not expect them: then it was the warning.
    const bool by_warning = end->exit.signal != 0 && end->exit.signal == terms_.job.warning_signal;
    if (because_ == end_cause::warned && by_warning) because_ = end_cause::time_limit;
    // A launcher stopped together with the job would never hear of its end.
    actions.push_back(ContinueLauncher{});
    actions.push_back(SurveyTree{});
  } else if (std::holds_alternative<SamplerEnded>(event)) {
    sampler_failed_ = false;
    plan_next_sampler(now);
  } else if (const auto* failed = std::get_if<SamplerNotStarted>(&event)) {
    plan_next_sampler(now);
    if (!std::exchange(sampler_failed_, true)) {
      actions.push_back(
          Note{"sampler_not_started",
               sentence("nothing is sampled until it can be started: {}", failed->why)});
    }
  } else if (const auto* survey = std::get_if<TreeSurveyed>(&event)) {
    on_survey(*survey, now, actions);
  } else if (const auto* stop = std::get_if<StopRequested>(&event)) {
    // Asked again, it has the new time from now.
    kill_at_.reset();
    terms_.stop_grace = stop->grace;
    if (!ended_)
      end_tree(end_cause::stopped, {"stop", sentence("its end was asked for")}, now, actions);
  } else if (std::holds_alternative<OverCap>(event)) {
    on_over_cap(now, actions);
  } else if (std::holds_alternative<TimePassed>(event)) {
    on_time(now, actions);
  }
  return actions;
}

void KeeperPlan::plan_next_sampler(Instant now) {
  sampler_at_ = now + sampler_pause_;
  sampler_pause_ = std::min(sampler_pause_ * 2, longest_sampler_pause);
}

void KeeperPlan::on_fault(const FaultNews& news, Instant now, Actions& actions) {
  if (!faults_.emplace(news.device, news.code).second) return;
  actions.push_back(Note{std::string(name_of(news.kind)), news.text});
  actions.push_back(TellFault{news});
  if (!ended_ && news.kind != FaultKind::job_error) act_on_fault(now, actions);
}

void KeeperPlan::act_on_fault(Instant now, Actions& actions) {
  const Sentence signalled = sentence("the job got a signal for it, as --on-gpu-fault says");
  const Sentence stopped = sentence("the job was asked to end for it, as --on-gpu-fault says");
  switch (terms_.job.on_gpu_fault) {
    case OnGpuFault::warn:
      return;
    case OnGpuFault::signal:
      actions.push_back(SignalJob{terms_.job.fault_signal});
      actions.push_back(Note{"on_gpu_fault", signalled});
      actions.push_back(TellUser{signalled});
      return;
    case OnGpuFault::stop:
      return end_tree(end_cause::gpu_fault, {"on_gpu_fault", stopped}, now, actions);
  }
}

void KeeperPlan::on_over_cap(Instant now, Actions& actions) {
  const Sentence stopped = sentence("the job was asked to end for it, as its cap_action says");
  if (ended_ || terms_.job.cap_action != CapAction::stop) return;
  end_tree(end_cause::memory_cap, {"cap_action", stopped}, now, actions);
}

void KeeperPlan::end_tree(std::string_view because, Note said, Instant now, Actions& actions) {
  if (kill_at_) return;
  warn_at_.reset();
  term_at_.reset();
  kill_at_ = now + terms_.stop_grace;
  because_ = because;
  actions.push_back(SignalTree{SIGTERM});
  actions.push_back(said);
  actions.push_back(TellUser{said.text});
}

void KeeperPlan::on_survey(const TreeSurveyed& survey, Instant now, Actions& actions) {
  if (!ended_) return;
  survey_at_ = now + survey_pause;
  if (survey.with_device > 0) {
    quiet_since_.reset();
  } else if (!quiet_since_) {
    quiet_since_ = now;
  }
  const bool quiet_enough =
      !terms_.job.hold && quiet_since_ && now - *quiet_since_ >= terms_.job.linger;
  const bool is_over = survey.survivors == 0 || quiet_enough || !terms_.has_lease;
  // The lease goes first: a user who starts the next job when this one's prompt returns finds the
  // card free.
  if (is_over && terms_.has_lease) actions.push_back(ReleaseLease{});
  if (!told_) actions.push_back(TellEnd{*ended_, because_});
  told_ = true;
  if (!is_over) return;
  actions.push_back(Finish{});
  finished_ = true;
}

void KeeperPlan::on_time(Instant now, Actions& actions) {
  if (is_due(warn_at_, now)) {
    warn_at_.reset();
    if (!ended_) {
      actions.push_back(SignalJob{terms_.job.warning_signal});
      because_ = end_cause::warned;
      actions.push_back(Note{"time_limit", sentence("warned the job: its time is nearly over")});
    }
  }
  if (is_due(term_at_, now)) {
    term_at_.reset();
    kill_at_ = now + terms_.stop_grace;
    because_ = end_cause::time_limit;
    actions.push_back(SignalTree{SIGTERM});
    actions.push_back(Note{"time_limit", sentence("the time is over: asked the job to end")});
  } else if (is_due(kill_at_, now)) {
    kill_at_ = now + kill_pause;
    actions.push_back(SignalTree{SIGKILL});
  }
  if (is_due(sampler_at_, now)) {
    sampler_at_.reset();
    actions.push_back(StartSampler{});
    if (!sampler_failed_) {
      actions.push_back(
          Note{"sampler_restarted", sentence("the sampler had ended and was started again")});
    }
  }
  if (is_due(survey_at_, now)) {
    survey_at_.reset();
    actions.push_back(SurveyTree{});
  }
}

}  // namespace berth
