#include "probe/probe_process/probe_watch.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/process.h"
#include "base/sentence.h"
#include "base/signals.h"
#include "probe/device_source.h"
#include "probe/procfs/procfs_probe.h"

namespace berth {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using wire::ProbeStep;
using wire::StepKind;

namespace {

/// The probe process: looks whenever it is asked. `so_far`: what the first look goes on with;
/// `base`: what every later one leaves out.
void look_on_request(const Sources& sources, const CollectorOptions& options, Asked asked,
                     Channel& channel, Progress so_far, const Progress& base) {
  StepReporter reporter(so_far, [&](std::string_view bytes) {
    channel.note_step();
    return channel.write(bytes);
  });
  std::optional<MachineProbe> machine;
  if (!options.ask) machine.emplace(sources, options.looks, asked).open(reporter);
  while (const auto request = wire::next_request(probe_requests)) {
    so_far.snapshot.taken = request->now;
    if (machine) {
      machine->ask(request->request, reporter);
    } else {
      options.ask(request->request, reporter);
    }
    if (!write_all(probe_answers, "!") || options.looks == Looks::once) break;
    so_far = base;
  }
}

}  // namespace

ProbeWatch::~ProbeWatch() {
  end_child();
  if (is_expected_) {  // never asked, so it is about to end: this watch has it no more
    ending_ = EndingChild(left_.back());
    left_.pop_back();
  }
  reap_left();
}

/// What a look starts with: the steps_ that are not asked for now.
Progress ProbeWatch::base(Instant now) const {
  Progress start;
  start.driver = asked_.driver;
  for (const auto& [step, one] : hung_) {
    if (now >= one.retry_at) continue;
    const auto row = known_.find(step.number);
    if (step.kind == StepKind::device && row != known_.end()) {
      start.identified = wire::Identified{step.number, row->second};
    }
    give_up(start, step, one.why);
  }
  start.identified.reset();
  return start;
}

void ProbeWatch::start_child(Clock& clock) {
  const Progress later = base(clock.now());
  // One that was given up may still write into its own.
  auto fresh = Channel::open();
  if (!fresh) {
    failed_ = true;
    tell_of_no_process(progress_, fresh.error());
    return;
  }
  channel_.emplace(std::move(*fresh));
  Channel& shared = *channel_;
  taken_in_ = 0;
  unpacker_ = {};
  auto started = start_probe_child(
      [&] { look_on_request(*sources_, *options_, asked_, shared, progress_, later); },
      Requests::some);
  if (!started) {
    failed_ = true;
    tell_of_no_process(progress_, started.error());
    return;
  }
  child_ = std::move(*started);
  progress_.current.reset();
  steps_ = shared.steps();
  deadlines_->begins(clock.now());
}

/// Where it has died meanwhile, its closed pipe says so.
void ProbeWatch::request() {
  static_cast<void>(
      write_without_signal(child_->requests.get(), wire::encode_request({wanted_, began_wall_})));
}

void ProbeWatch::end_child() {
  if (!child_) return;
  if (options_->end_process) {
    options_->end_process(child_->pid);
  } else {
    static_cast<void>(signal_child(child_->pid, SIGKILL));
  }
  left_.push_back(child_->pid);
  child_.reset();
}

void ProbeWatch::reap_left() {
  std::erase_if(left_, [](pid_t pid) {
    const auto ended = reap_if_ended(pid);
    return !ended || ended->has_value();
  });
}

void ProbeWatch::take_in(Clock& clock) {
  const std::string_view bytes = channel_->bytes();
  if (bytes.size() > taken_in_) {
    unpacker_.feed(bytes.substr(taken_in_));
    taken_in_ = bytes.size();
  }
  wire::Message message;
  while (unpacker_.next(message)) apply(progress_, std::move(message));
  if (channel_->steps() == steps_) return;
  steps_ = channel_->steps();
  deadlines_->answered(clock.now());
}

Instant ProbeWatch::silence_ends(Clock& clock) const {
  const bool hung_before = progress_.current && hung_.contains(*progress_.current);
  return deadlines_->silence_ends(
      progress_, clock.now(), hung_before ? Deadlines::Before::hung : Deadlines::Before::unknown);
}

/// Gives up the step that was going on, for another process to go on behind it. A snapshot: there
/// was none.
std::optional<ProbeWatch::Looked> ProbeWatch::without(const GivenUp& why, Clock& clock) {
  const std::optional<ProbeStep> step = progress_.current;
  const bool is_identified =
      step && progress_.identified && progress_.identified->index == step->number;
  if (step && step->kind == StepKind::device && !is_identified) {
    const auto row = known_.find(step->number);
    if (row != known_.end()) progress_.identified = wire::Identified{step->number, row->second};
  }
  const bool driver_is_late = clock.now() >= deadlines_->end_of_driver();
  if (!give_up_current(progress_, why, driver_is_late)) return finish();
  const auto before = hung_.find(*step);
  const bool again = before != hung_.end();
  const Duration longest = std::chrono::minutes(5);
  const Duration wait = again ? std::min(before->second.wait * 2, longest) : options_->retry;
  const WallTime since = again ? before->second.since : clock.wall_now();
  hung_[*step] = {.since = since, .retry_at = clock.now() + wait, .wait = wait, .why = why};
  return std::nullopt;
}

/// What was given up long enough ago is asked again, by a new process that does not leave it out.
void ProbeWatch::forget_what_may_be_asked_again(Clock& clock) {
  const bool any = std::any_of(hung_.begin(), hung_.end(), [&](const auto& entry) {
    return clock.now() >= entry.second.retry_at;
  });
  if (any) end_child();
}

void ProbeWatch::open(Clock& clock) {
  if (child_) return;
  deadlines_.emplace(options_->patience, clock.now());
  progress_ = base(clock.now());
  start_child(clock);
  is_expected_ = child_.has_value();
}

void ProbeWatch::begin(const CollectRequest& wanted, Clock& clock, std::optional<Snapshot> so_far) {
  is_looking_ = true;
  wanted_ = wanted;
  const Instant began = clock.now();
  began_wall_ = clock.wall_now();
  if (so_far) end_child();  // it would not know
  reap_left();
  failed_ = false;
  const bool is_expected = std::exchange(is_expected_, false);
  Patience patience = options_->patience;
  if (child_ && !is_expected) {
    patience.opening = std::min(patience.opening, options_->reopening);
  }
  deadlines_.emplace(patience, began);
  if (!is_expected) {
    forget_what_may_be_asked_again(clock);
    progress_ = base(began);
  }
  if (so_far) progress_.snapshot = std::move(*so_far);
  progress_.snapshot.taken = began_wall_;
  if (!child_) {
    start_child(clock);
  } else if (!is_expected) {
    channel_->clear();
    taken_in_ = 0;
    unpacker_ = {};
    steps_ = channel_->steps();
  }
  if (!child_) return;
  request();
  // The kernel's name and the like never block.
  if (asked_.kernel && wanted_.wanted.has(Extra::host)) {
    ProcfsProbe({.proc = sources_->proc}).observe_host(progress_.snapshot.host);
  }
}

std::optional<int> ProbeWatch::descriptor() const {
  if (!is_looking_ || !child_) return std::nullopt;
  return child_->answers.get();
}

Duration ProbeWatch::patience(Clock& clock) const {
  if (!is_looking_ || !child_) return Duration{0};
  // Steps ring no bell. Soon after one, another is likely; and none is given up late. A caller that
  // waits for one look reads the answers while the rest is asked.
  const Instant now = clock.now();
  const Duration least = options_->looks == Looks::once ? microseconds(300) : milliseconds(5);
  const Duration soon = std::clamp<Duration>(deadlines_->silent(now), least, milliseconds(50));
  return std::clamp(silence_ends(clock) - now, Duration{0}, soon);
}

std::optional<ProbeWatch::Looked> ProbeWatch::after_silence(Clock& clock) {
  const Duration waited = deadlines_->silent(clock.now());
  deadlines_->gave_up(clock.now());
  end_child();
  const bool has_just_answered = waited < milliseconds(1);
  return without({.why = has_just_answered ? GivenUp::Why::out_of_time : GivenUp::Why::stalled,
                  .waited = waited},
                 clock);
}

/// So that nobody wonders.
void ProbeWatch::tell_slow_start(Clock& clock) {
  if (has_told_slow_start_ || !options_->patience.tell_slow_start) return;
  if (!deadlines_->is_slow_start(progress_, clock.now())) return;
  has_told_slow_start_ = true;
  options_->patience.tell_slow_start();
}

std::optional<ProbeWatch::Looked> ProbeWatch::after_death(Clock& clock) {
  if (const auto pidfd = open_pidfd(child_->pid)) {
    static_cast<void>(wait_readable({pidfd->get()}, milliseconds(50)));
  }
  const GivenUp died{.why = GivenUp::Why::died, .how = how_it_ended(reap_if_ended(child_->pid))};
  left_.push_back(child_->pid);
  child_.reset();
  return without(died, clock);
}

std::optional<ProbeWatch::Looked> ProbeWatch::advance(Clock& clock) {
  if (!is_looking_) return std::nullopt;
  if (failed_ || !child_) return finish();
  const int answers = child_->answers.get();
  const bool news = wait_readable({answers}, Duration{0}).front();
  char bell = 0;
  const bool has_rung = news && ::read(answers, &bell, 1) == 1;
  take_in(clock);
  // A bell without a last message is none of ours: the vendor's library writes where it likes.
  if (unpacker_.is_broken() || (has_rung && !progress_.is_done && !channel_->is_full())) {
    deadlines_->gave_up(clock.now());
    end_child();
    if (auto snapshot = without(scribbled(), clock)) return snapshot;
  } else if (has_rung) {
    // What hung_ and answered now, or is not there to be asked any more, is well again.
    std::erase_if(hung_, [&](const auto& entry) { return !progress_.is_given_up(entry.first); });
    return finish();
  } else if (news) {
    if (auto snapshot = after_death(clock)) return snapshot;
  } else if (clock.now() >= silence_ends(clock)) {
    if (auto snapshot = after_silence(clock)) return snapshot;
  } else {
    tell_slow_start(clock);
    return std::nullopt;
  }
  if (clock.now() >= deadlines_->end_of_all()) {
    give_up_driver(progress_, {.why = GivenUp::Why::out_of_time});
    return finish();
  }
  // A new process goes on where this one stopped.
  start_child(clock);
  if (!child_) return finish();
  request();
  return std::nullopt;
}

std::optional<WallTime> ProbeWatch::unanswered_since(Clock& clock) const {
  std::optional<WallTime> since;
  for (const auto& [step, one] : hung_) {
    const bool driver = step.kind == StepKind::driver || step.kind == StepKind::device;
    if (driver && (!since || one.since < *since)) since = one.since;
  }
  constexpr std::int64_t slow_ms = 1000;
  const bool slow = is_looking_ && clock.wall_now().unix_ms - began_wall_.unix_ms > slow_ms;
  if (!since && slow) since = began_wall_;
  return since;
}

ProbeWatch::Looked ProbeWatch::finish() {
  is_looking_ = false;
  if (channel_ && channel_->is_full()) {
    apply(progress_,
          Problem{.source = "probe",
                  .code = "too_much",
                  .message = sentence(
                      "there is more to tell of this machine than fits: the last is missing"),
                  .remedy = sentence("a process with a command of megabytes may be why")});
  }
  if (options_->looks == Looks::once && child_) {
    ending_ = EndingChild(child_->pid);
    child_.reset();
  }
  Looked looked{.driver_events = progress_.driver_events};
  looked.snapshot = finished_snapshot(std::exchange(progress_, {}),
                                      {.kernel = asked_.kernel, .has_run = !failed_});
  if (options_->looks == Looks::once) return looked;
  for (const Device& device : looked.snapshot.devices) {
    if (!asked_.driver || !device.index || device.parent || device.kind != asked_.driver) continue;
    const auto index = static_cast<std::uint64_t>(*device.index);
    if (hung_.contains({StepKind::device, index})) continue;
    known_[index] = only_facts(device, Absent::failed);
  }
  return looked;
}

std::optional<pid_t> ProbeWatch::process() const {
  return child_ ? std::optional(child_->pid) : std::nullopt;
}

}  // namespace berth
