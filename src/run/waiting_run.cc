#include "run/waiting_run.h"
#include "base/text.h"
#include "record/run_record.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace berth {

namespace {

volatile std::sig_atomic_t interrupting_signal = 0;
extern "C" void note_interrupt(int signal) { interrupting_signal = signal; }

constexpr std::array<int, 4> signals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

}  // namespace

WaitingSignals::WaitingSignals() {
  static_assert(signals.size() == count);
  interrupting_signal = 0;
  struct sigaction noting{};
  noting.sa_handler = note_interrupt;
  for (std::size_t at = 0; at < signals.size(); ++at) {
    ::sigaction(signals[at], nullptr, &before_[at]);
    if (before_[at].sa_handler == SIG_DFL) ::sigaction(signals[at], &noting, nullptr);
  }
}

WaitingSignals::~WaitingSignals() {
  for (std::size_t at = 0; at < signals.size(); ++at) {
    ::sigaction(signals[at], &before_[at], nullptr);
  }
}

int WaitingSignals::noted() { return interrupting_signal; }
void WaitingSignals::note(int signal) { interrupting_signal = signal; }

NeverStarted never_started_by(const Result<RunOutcome>& outcome) {
  if (!outcome) {
    return {.exit = {.code = exit_code::berth_failed}, .because = end_cause::not_started};
  }
  if (outcome->how != RunOutcome::How::interrupted) {
    return {.exit = {.code = exit_code::no_device}, .because = end_cause::no_device};
  }
  const int signal = outcome->exit.signal;  // none: by `berth stop` alone
  return {.exit = {.signal = signal != 0 ? signal : SIGTERM}, .because = end_cause::left_queue};
}

void PlaceNotes::is_missing(const Sentence& why, const RecordWriter& record,
                            const Manifest& manifest, Clock& clock) {
  if (is_there_ || std::exchange(is_missing_, true)) return;
  (void)record.append_event(
      {.at = time_in(manifest, clock.moment()),
       .kind = std::string(not_queued_event),
       .text = sentence("its place in the queue could not be written: {}", why)});
}

void PlaceNotes::is_there(const RecordWriter& record, const Manifest& manifest, Clock& clock) {
  is_there_ = true;
  if (!std::exchange(is_missing_, false)) return;
  (void)record.append_event({.at = time_in(manifest, clock.moment()),
                             .kind = std::string(queued_event),
                             .text = sentence("it has its place in the queue now")});
}

Result<void> end_waiting(const RecordWriter& record, Manifest manifest, const NeverStarted& how,
                         Clock& clock) {
  const WallTime now = time_in(manifest, clock.moment());
  manifest.waiting = true;
  // The record is a little younger than the wait.
  manifest.waited_ms = std::max(manifest.waited_ms, now.unix_ms - manifest.started.unix_ms);
  auto told = record.write_manifest(manifest);
  RunEnd end{.at = now, .exit = how.exit, .because = std::string(how.because), .released = now};
  if (how.because == end_cause::left_queue) {
    end.stopped_by = stop_request_in(record.directory()).value_or(StopRequest{}).by;
  }
  auto written = record.write_end(end);
  return written ? told : written;
}

namespace {

constexpr Duration asked_every = std::chrono::milliseconds(500);

std::unexpected<Error> not_well(const std::string& run, const Sentence& how) {
  return fail(ErrorCode::invalid,
              "--after {}: that run {}, and this one is only for when it has ended well", run, how);
}

}  // namespace

Result<AfterState> state_of_run_before(const std::string& state_directory, const std::string& run) {
  auto record = load_run(state_directory, run);
  if (!record) return std::unexpected(std::move(record).error().at("--after " + run));
  switch (record->state) {
    case RunState::waiting:
    case RunState::running:
      return AfterState::unfinished;
    case RunState::end_unknown:
      return not_well(run, sentence("has gone without a word of its end"));
    case RunState::elsewhere:
      return not_well(run, sentence("is another machine's"));
    case RunState::ended:
      break;
  }
  const auto& end = record->end;
  if (!end || !end->known || end->gave_back) {
    return not_well(run, sentence("has gone without a word of its end"));
  }
  if (ended_well(*record)) return AfterState::ended_well;
  if (!end->because.empty()) return not_well(run, sentence("ended: {}", Sentence(end->because)));
  if (end->exit.signal != 0)
    return not_well(run, sentence("was ended by signal {}", end->exit.signal));
  return not_well(run, sentence("ended with {}", end->exit.code));
}

Result<void> await_runs(const std::vector<std::string>& runs, const std::string& state_directory,
                        Clock& clock, const std::function<bool()>& interrupted,
                        const std::function<void(const Sentence&)>& waits) {
  std::vector<std::string> left = runs;
  for (bool is_told = false;; is_told = true) {
    std::vector<std::string> unfinished;
    for (const std::string& run : left) {
      const auto state = state_of_run_before(state_directory, run);
      if (!state) return std::unexpected(state.error());
      if (*state == AfterState::unfinished) unfinished.push_back(run);
    }
    if (unfinished.empty()) return {};
    if (!is_told) waits(sentence("waits until {} has ended well", joined(unfinished, ", ")));
    if (interrupted()) return fail(ErrorCode::timeout, "interrupted");
    left = std::move(unfinished);
    (void)clock.wait_readable(-1, clock.now() + asked_every);
  }
}

}  // namespace berth
