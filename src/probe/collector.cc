#include "probe/collector.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <map>
#include <utility>

#include "base/process.h"
#include "base/signals.h"
#include "base/tr.h"
#include "probe/driver_log.h"
#include "probe/nvml/device_reading.h"
#include "probe/offline.h"
#include "probe/process/channel.h"
#include "probe/process/child.h"
#include "probe/process/progress.h"
#include "probe/procfs/procfs_probe.h"
#include "probe/roll_call.h"
#include "probe/xid_memory.h"

namespace berth {

namespace {

using std::chrono::milliseconds;
using wire::Step;
using wire::StepKind;

/// The probe process: looks whenever it is asked. `so_far`: what the first look goes on with;
/// `base`: what every later one leaves out.
void look_on_request(const Sources& sources, const CollectorOptions& options, Channel& channel,
                     Progress so_far, const Progress& base) {
  Teller teller(so_far, [&](std::string_view bytes) {
    channel.note_step();
    return channel.write(bytes);
  });
  std::optional<MachineProbe> machine;
  if (!options.ask) machine.emplace(sources, options.looks).open(teller);
  while (const auto request = wire::next_request(probe_requests)) {
    so_far.snapshot.taken = request->now;
    if (machine) {
      machine->ask(request->wish, teller);
    } else {
      options.ask(request->wish, teller);
    }
    if (!write_all(probe_answers, "!") || options.looks == Looks::once) break;
    so_far = base;
  }
}

}  // namespace

struct Collector::Parts {
  struct Hung {
    WallTime since;
    Instant retry_at;
    Duration wait{};
    GivenUp why;
  };

  Sources sources;
  CollectorOptions options;
  std::optional<OfflineSource> offline;  // simulated or replayed: in this process
  std::optional<Snapshot> seen_offline;
  std::optional<Channel> channel;
  std::optional<ProbeChild> child;
  std::vector<pid_t> left;  // killed and not yet gone
  EndingChild ending;       // has told all of its one look
  std::map<Step, Hung> hung;
  std::map<std::uint64_t, Device> known;  // rows of devices, for when one does not answer
  RollCall roll;
  XidMemory xids;
  std::optional<DriverLog> log;
  Reading<WallTime> driver_loaded;

  bool looking = false;
  bool has_looked = false;
  bool failed = false;       // no process could be started
  bool is_expected = false;  // a process was started for a look that has not begun
  Wish wish;
  Progress progress;
  std::optional<Deadlines> deadlines;
  WallTime began_wall;
  std::size_t taken_in = 0;  // bytes of the channel
  wire::Unpacker unpacker;
  std::uint64_t steps = 0;

  [[nodiscard]] Progress base(Instant now) const;
  void start_child(Clock& clock);
  void request();
  void end_child();
  void reap_left();
  void take_in(Clock& clock);
  [[nodiscard]] Instant silence_ends(Clock& clock) const;
  [[nodiscard]] bool reads_log() const;
  [[nodiscard]] std::optional<Snapshot> finish(Clock& clock);
  [[nodiscard]] std::optional<Snapshot> after_death(Clock& clock);
  [[nodiscard]] std::optional<Snapshot> after_silence(Clock& clock);
  void tell_slow_start(Clock& clock);
  [[nodiscard]] std::optional<Snapshot> without(const GivenUp& why, Clock& clock);
  void forget_what_may_be_asked_again(Clock& clock);
};

/// What a look starts with: the steps that are not asked for now.
Progress Collector::Parts::base(Instant now) const {
  Progress start;
  for (const auto& [step, one] : hung) {
    if (now >= one.retry_at) continue;
    const auto row = known.find(step.number);
    if (step.kind == StepKind::nvml_device && row != known.end()) {
      start.identified = wire::Identified{step.number, row->second};
    }
    give_up(start, step, one.why);
  }
  start.identified.reset();
  return start;
}

void Collector::Parts::start_child(Clock& clock) {
  const Progress later = base(clock.now());
  // One that was given up may still write into its own.
  auto fresh = Channel::open();
  if (!fresh) {
    failed = true;
    tell_of_no_process(progress, fresh.error());
    return;
  }
  channel.emplace(std::move(*fresh));
  Channel& shared = *channel;
  taken_in = 0;
  unpacker = {};
  auto started = start_probe_child(
      [&] { look_on_request(sources, options, shared, progress, later); }, Requests::some);
  if (!started) {
    failed = true;
    tell_of_no_process(progress, started.error());
    return;
  }
  child = std::move(*started);
  progress.current.reset();
  steps = shared.steps();
  deadlines->begins(clock.now());
}

/// Where it has died meanwhile, its closed pipe says so.
void Collector::Parts::request() {
  static_cast<void>(
      write_without_signal(child->requests.get(), wire::encode_request({wish, began_wall})));
}

void Collector::Parts::end_child() {
  if (!child) return;
  if (options.end_process) {
    options.end_process(child->pid);
  } else {
    static_cast<void>(signal_child(child->pid, SIGKILL));
  }
  left.push_back(child->pid);
  child.reset();
}

void Collector::Parts::reap_left() {
  std::erase_if(left, [](pid_t pid) {
    const auto ended = reap_if_ended(pid);
    return !ended || ended->has_value();
  });
}

void Collector::Parts::take_in(Clock& clock) {
  const std::string_view bytes = channel->bytes();
  if (bytes.size() > taken_in) {
    unpacker.feed(bytes.substr(taken_in));
    taken_in = bytes.size();
  }
  wire::Message message;
  while (unpacker.next(message)) apply(progress, std::move(message));
  if (channel->steps() == steps) return;
  steps = channel->steps();
  deadlines->answered(clock.now());
}

Instant Collector::Parts::silence_ends(Clock& clock) const {
  const bool hung_before = progress.current && hung.contains(*progress.current);
  return deadlines->silence_ends(
      progress, clock.now(), hung_before ? Deadlines::Before::hung : Deadlines::Before::unknown);
}

/// Gives up the step that was going on, for another process to go on behind it. A snapshot: there
/// was none.
std::optional<Snapshot> Collector::Parts::without(const GivenUp& why, Clock& clock) {
  const std::optional<Step> step = progress.current;
  const bool is_identified =
      step && progress.identified && progress.identified->index == step->number;
  if (step && step->kind == StepKind::nvml_device && !is_identified) {
    const auto row = known.find(step->number);
    if (row != known.end()) progress.identified = wire::Identified{step->number, row->second};
  }
  const bool nvml_is_late = clock.now() >= deadlines->end_of_nvml();
  if (!give_up_current(progress, why, nvml_is_late)) return finish(clock);
  const auto before = hung.find(*step);
  const bool again = before != hung.end();
  const Duration longest = std::chrono::minutes(5);
  const Duration wait = again ? std::min(before->second.wait * 2, longest) : options.retry;
  const WallTime since = again ? before->second.since : clock.wall_now();
  hung[*step] = {.since = since, .retry_at = clock.now() + wait, .wait = wait, .why = why};
  return std::nullopt;
}

bool Collector::Parts::reads_log() const {
  if (options.looks == Looks::once) return wish.relations == Relations::all;
  // A long log takes some milliseconds, once: a first picture that wants no details goes before.
  return options.logged == CollectorOptions::Logged::new_ones || wish.wanted.has_details() ||
         has_looked;
}

std::optional<Snapshot> Collector::Parts::finish(Clock& clock) {
  looking = false;
  if (channel && channel->is_full()) {
    apply(progress,
          Problem{.source = "probe",
                  .code = "too_much",
                  .message = std::string(
                      tr("there is more to tell of this machine than fits: the last is missing")),
                  .remedy = std::string(tr("a process with a command of megabytes may be why"))});
  }
  if (options.looks == Looks::once && child) {
    ending = EndingChild(child->pid);
    child.reset();
  }
  xids.add_told(progress.driver_events, began_wall);
  if (reads_log()) {
    const bool all = options.logged == CollectorOptions::Logged::all;
    if (!log) {
      log.emplace(sources.kernel_log, sources.proc,
                  all ? DriverLog::From::beginning : DriverLog::From::end);
    }
    const DriverMessages told = log->read(clock.wall_now());
    xids.add_logged(told.errors);
    driver_loaded = told.loaded;
  }
  has_looked = true;
  Snapshot snapshot = finished_snapshot(std::move(progress), !failed);
  snapshot.xids = xids.all();
  snapshot.driver_loaded = driver_loaded;
  progress = {};
  if (options.looks == Looks::once) return snapshot;
  for (const Device& device : snapshot.devices) {
    if (!device.index || device.parent || device.kind != DeviceKind::nvidia_gpu) continue;
    const auto index = static_cast<std::uint64_t>(*device.index);
    if (hung.contains({StepKind::nvml_device, index})) continue;
    known[index] = nvml::only_facts(device, Absent::failed);
  }
  roll.call(snapshot);
  return snapshot;
}

/// What was given up long enough ago is asked again, by a new process that does not leave it out.
void Collector::Parts::forget_what_may_be_asked_again(Clock& clock) {
  const bool any = std::any_of(hung.begin(), hung.end(), [&](const auto& entry) {
    return clock.now() >= entry.second.retry_at;
  });
  if (any) end_child();
}

Collector::Collector(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Collector::Collector(Collector&&) noexcept = default;
Collector& Collector::operator=(Collector&&) noexcept = default;
Collector::~Collector() {
  if (!parts_) return;
  parts_->end_child();
  if (parts_->is_expected) {  // never asked, so it is about to end: whoever goes on has it no more
    parts_->ending = EndingChild(parts_->left.back());
    parts_->left.pop_back();
  }
  parts_->reap_left();
}

Result<Collector> Collector::start(const Sources& sources, CollectorOptions options) {
  auto parts = std::make_unique<Parts>();
  parts->sources = sources;
  parts->options = std::move(options);
  if (sources.simulated || sources.replay) {
    auto offline = OfflineSource::start(sources, parts->options.looks);
    if (!offline) return std::unexpected(std::move(offline).error());
    parts->offline.emplace(std::move(*offline));
    return Collector(std::move(parts));
  }
  return Collector(std::move(parts));
}

void Collector::open(Clock& clock) {
  Parts& parts = *parts_;
  if (parts.offline || parts.child) return;
  parts.deadlines.emplace(parts.options.patience, clock.now());
  parts.progress = parts.base(clock.now());
  parts.start_child(clock);
  parts.is_expected = parts.child.has_value();
}

bool Collector::is_looking() const { return parts_->looking; }

void Collector::begin(Wish wish, Clock& clock) {
  Parts& parts = *parts_;
  parts.looking = true;
  parts.wish = std::move(wish);
  const Instant began = clock.now();
  parts.began_wall = clock.wall_now();
  if (parts.offline) {
    parts.seen_offline = parts.offline->look(parts.wish.claims, parts.began_wall);
    return;
  }
  parts.reap_left();
  parts.failed = false;
  const bool is_expected = std::exchange(parts.is_expected, false);
  Patience patience = parts.options.patience;
  if (parts.child && !is_expected) {
    patience.opening = std::min(patience.opening, parts.options.reopening);
  }
  parts.deadlines.emplace(patience, began);
  if (!is_expected) {
    parts.forget_what_may_be_asked_again(clock);
    parts.progress = parts.base(began);
  }
  parts.progress.snapshot.taken = parts.began_wall;
  if (!parts.child) {
    parts.start_child(clock);
  } else if (!is_expected) {
    parts.channel->clear();
    parts.taken_in = 0;
    parts.unpacker = {};
    parts.steps = parts.channel->steps();
  }
  if (!parts.child) return;
  parts.request();
  // The kernel's name and the like never block.
  if (parts.wish.wanted.has(Extra::host)) {
    ProcfsProbe({.proc = parts.sources.proc}).observe_host(parts.progress.snapshot.host);
  }
}

std::optional<int> Collector::descriptor() const {
  if (!parts_->looking || !parts_->child) return std::nullopt;
  return parts_->child->answers.get();
}

Duration Collector::patience(Clock& clock) const {
  if (!parts_->looking || !parts_->child) return Duration{0};
  // Steps ring no bell. Soon after one, another is likely; and none is given up late.
  const Instant now = clock.now();
  const Duration soon =
      std::clamp<Duration>(parts_->deadlines->silent(now), milliseconds(5), milliseconds(50));
  return std::clamp(parts_->silence_ends(clock) - now, Duration{0}, soon);
}

std::optional<Snapshot> Collector::Parts::after_silence(Clock& clock) {
  const Duration waited = deadlines->silent(clock.now());
  deadlines->gave_up(clock.now());
  end_child();
  const bool has_just_answered = waited < milliseconds(1);
  return without({.why = has_just_answered ? GivenUp::Why::out_of_time : GivenUp::Why::stalled,
                  .waited = waited},
                 clock);
}

/// So that nobody wonders.
void Collector::Parts::tell_slow_start(Clock& clock) {
  if (!options.patience.tell_slow_start || !deadlines->is_slow_start(progress, clock.now())) return;
  std::exchange(options.patience.tell_slow_start, nullptr)();
}

std::optional<Snapshot> Collector::Parts::after_death(Clock& clock) {
  if (const auto pidfd = open_pidfd(child->pid)) {
    static_cast<void>(wait_readable({pidfd->get()}, milliseconds(50)));
  }
  const GivenUp died{.why = GivenUp::Why::died, .how = how_it_ended(reap_if_ended(child->pid))};
  left.push_back(child->pid);
  child.reset();
  return without(died, clock);
}

std::optional<Snapshot> Collector::advance(Clock& clock) {
  Parts& parts = *parts_;
  if (!parts.looking) return std::nullopt;
  if (parts.offline) {
    parts.looking = false;
    return std::exchange(parts.seen_offline, std::nullopt);
  }
  if (parts.failed || !parts.child) return parts.finish(clock);
  const int answers = parts.child->answers.get();
  const bool news = wait_readable({answers}, Duration{0}).front();
  char bell = 0;
  const bool has_rung = news && ::read(answers, &bell, 1) == 1;
  parts.take_in(clock);
  // A bell without a last message is none of ours: the vendor's library writes where it likes.
  if (parts.unpacker.is_broken() ||
      (has_rung && !parts.progress.is_done && !parts.channel->is_full())) {
    parts.deadlines->gave_up(clock.now());
    parts.end_child();
    if (auto snapshot = parts.without(scribbled(), clock)) return snapshot;
  } else if (has_rung) {
    // What hung and answered now, or is not there to be asked any more, is well again.
    std::erase_if(parts.hung,
                  [&](const auto& entry) { return !parts.progress.is_given_up(entry.first); });
    return parts.finish(clock);
  } else if (news) {
    if (auto snapshot = parts.after_death(clock)) return snapshot;
  } else if (clock.now() >= parts.silence_ends(clock)) {
    if (auto snapshot = parts.after_silence(clock)) return snapshot;
  } else {
    parts.tell_slow_start(clock);
    return std::nullopt;
  }
  if (clock.now() >= parts.deadlines->end_of_all()) {
    give_up_nvml(parts.progress, {.why = GivenUp::Why::out_of_time});
    return parts.finish(clock);
  }
  // A new process goes on where this one stopped.
  parts.start_child(clock);
  if (!parts.child) return parts.finish(clock);
  parts.request();
  return std::nullopt;
}

Snapshot Collector::collect(Wish wish, Clock& clock) {
  begin(std::move(wish), clock);
  while (true) {
    if (auto snapshot = advance(clock)) return std::move(*snapshot);
    if (const auto news = descriptor()) static_cast<void>(wait_readable({*news}, patience(clock)));
  }
}

Result<Snapshot> collect(const Sources& sources, Wish wish, Clock& clock, Patience patience) {
  auto collector =
      Collector::start(sources, {.looks = Looks::once, .patience = std::move(patience)});
  if (!collector) return std::unexpected(std::move(collector).error());
  return collector->collect(std::move(wish), clock);
}

std::optional<pid_t> Collector::probe_process() const {
  return parts_->child ? std::optional(parts_->child->pid) : std::nullopt;
}

std::optional<WallTime> Collector::unanswered_since(Clock& clock) const {
  std::optional<WallTime> since;
  for (const auto& [step, one] : parts_->hung) {
    const bool driver = step.kind == StepKind::nvml_open || step.kind == StepKind::nvml_device;
    if (driver && (!since || one.since < *since)) since = one.since;
  }
  constexpr std::int64_t slow_ms = 1000;
  const bool slow =
      parts_->looking && clock.wall_now().unix_ms - parts_->began_wall.unix_ms > slow_ms;
  if (!since && slow) since = parts_->began_wall;
  return since;
}

}  // namespace berth
