#include "probe/lookout.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <type_traits>
#include <utility>

#include "base/process.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/tr.h"
#include "probe/driver_log.h"
#include "probe/nvml/device_reading.h"
#include "probe/process/ask.h"
#include "probe/process/channel.h"
#include "probe/process/child.h"
#include "probe/process/progress.h"
#include "probe/roll_call.h"
#include "probe/xid_memory.h"

namespace berth {

namespace {

using std::chrono::milliseconds;
using wire::Step;
using wire::StepKind;

/// What the probe process is asked, followed by the leases as text. Copied as it lies in memory.
struct Request {
  std::int64_t now_ms = 0;
  Wanted wanted;
  std::uint32_t bytes = 0;
};
static_assert(std::is_trivially_copyable_v<Request>);

bool read_whole(int fd, void* to, std::size_t size) {
  auto* at = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t got = ::read(fd, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

/// Of each lease with a job a line: the job's pid, its keeper's pid and start, its devices.
std::string lines_of(const std::vector<Claim>& claims) {
  std::string lines;
  for (const Claim& claim : claims) {
    if (!claim.job) continue;
    lines += fmt::format("{} {} {}", claim.job->pid, claim.keeper.pid, claim.keeper.start_ticks);
    for (const ClaimedDevice& one : claim.devices) lines += ' ' + one.device.text();
    lines += '\n';
  }
  return lines;
}

std::vector<Claim> claims_in(const std::string& lines) {
  std::vector<Claim> claims;
  const std::vector<std::string_view> each = split(lines, '\n');
  for (const std::string_view line : each) {
    const std::vector<std::string_view> words = split(line, ' ');
    if (words.size() < 3) continue;
    const auto number = [&](std::size_t place) { return parse_unsigned(words[place]).value_or(0); };
    Claim& claim = claims.emplace_back();
    claim.job = ProcessId{.pid = static_cast<pid_t>(number(0))};
    claim.keeper = {.pid = static_cast<pid_t>(number(1)), .start_ticks = number(2)};
    for (std::size_t i = 3; i < words.size(); ++i) {
      claim.devices.push_back({DeviceId(std::string(words[i])), std::nullopt});
    }
  }
  return claims;
}

std::string encoded(const Wanted& wanted, const std::vector<Claim>& claims, WallTime now) {
  const std::string lines = lines_of(claims);
  const Request request{
      .now_ms = now.unix_ms, .wanted = wanted, .bytes = static_cast<std::uint32_t>(lines.size())};
  std::string bytes(sizeof request, '\0');
  std::memcpy(bytes.data(), &request, sizeof request);
  return bytes + lines;
}

/// The probe process: looks whenever it is asked, until nobody asks any more. `so_far`: what the
/// first look goes on with; `base`: what every later one leaves out.
void look_on_request(const Sources& sources, Channel& channel, Progress so_far,
                     const Progress& base) {
  auto observer = Observer::start(sources);
  if (!observer) return;
  Request request;
  while (read_whole(probe_requests, &request, sizeof request)) {
    std::string lines(request.bytes, '\0');
    if (!read_whole(probe_requests, lines.data(), lines.size())) break;
    so_far.snapshot.taken = WallTime{request.now_ms};
    Teller teller(so_far, [&](std::string_view bytes) {
      channel.note_step();
      return bytes.empty() || channel.write(bytes);
    });
    observer->ask(request.wanted, claims_in(lines), teller);
    if (!write_all(probe_answers, "!")) break;
    so_far = base;
  }
}

}  // namespace

struct Lookout::Parts {
  struct Hung {
    WallTime since;
    Instant retry_at;
    Duration wait{};
    GivenUp why;
  };

  Sources sources;
  LookoutOptions options;
  std::optional<Observer> observer;  // simulated or replayed: in this process
  std::optional<Snapshot> observed;
  std::optional<Channel> channel;
  std::optional<ProbeChild> child;
  std::vector<pid_t> left;  // killed and not yet gone
  std::map<Step, Hung> hung;
  std::map<std::uint64_t, Device> known;  // rows of devices, for when one does not answer
  RollCall roll;
  XidMemory xids;
  std::optional<DriverLog> log;
  Reading<WallTime> driver_loaded;

  bool looking = false;
  bool has_looked = false;
  bool failed = false;  // no process could be started
  Wanted wanted;
  std::vector<Claim> claims;
  Progress progress;
  std::optional<Deadlines> deadlines;
  WallTime began_wall;
  std::size_t taken_in = 0;  // bytes of the channel
  wire::Unpacker unpacker;
  std::uint64_t steps = 0;

  [[nodiscard]] Progress base(Instant now) const;
  void start_child(Clock& clock);
  void end_child();
  void reap_left();
  void take_in(Clock& clock);
  [[nodiscard]] Instant silence_ends(Clock& clock) const;
  [[nodiscard]] std::optional<Snapshot> finish(Clock& clock);
  [[nodiscard]] std::optional<Snapshot> after_death(Clock& clock);
  [[nodiscard]] std::optional<Snapshot> without(const GivenUp& why, Clock& clock);
  void forget_what_may_be_asked_again(Clock& clock);
};

/// What a look starts with: the steps that are not asked for now.
Progress Lookout::Parts::base(Instant now) const {
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

void Lookout::Parts::start_child(Clock& clock) {
  const Progress later = base(clock.now());
  // One that was given up may still write into its own.
  auto fresh = Channel::open();
  if (fresh) {
    channel.emplace(std::move(*fresh));
  } else {
    channel->clear();
  }
  Channel& shared = *channel;
  taken_in = 0;
  unpacker = {};
  auto started =
      start_probe_child([&] { look_on_request(sources, shared, progress, later); }, Requests::some);
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

void Lookout::Parts::end_child() {
  if (!child) return;
  static_cast<void>(signal_child(child->pid, SIGKILL));
  left.push_back(child->pid);
  child.reset();
}

void Lookout::Parts::reap_left() {
  std::erase_if(left, [](pid_t pid) {
    const auto ended = reap_if_ended(pid);
    return !ended || ended->has_value();
  });
}

void Lookout::Parts::take_in(Clock& clock) {
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

Instant Lookout::Parts::silence_ends(Clock& clock) const {
  const bool hung_before = progress.current && hung.contains(*progress.current);
  return deadlines->silence_ends(
      progress, clock.now(), hung_before ? Deadlines::Before::hung : Deadlines::Before::unknown);
}

/// Gives up the step that was going on, for another process to go on behind it. A snapshot: there
/// was none.
std::optional<Snapshot> Lookout::Parts::without(const GivenUp& why, Clock& clock) {
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

std::optional<Snapshot> Lookout::Parts::finish(Clock& clock) {
  looking = false;
  if (channel->is_full()) {
    apply(progress,
          Problem{.source = "probe",
                  .code = "too_much",
                  .message = std::string(
                      tr("there is more to tell of this machine than fits: the last is missing")),
                  .remedy = std::string(tr("a process with a command of megabytes may be why"))});
  }
  xids.add_told(progress.driver_events, began_wall);
  // A long log takes some milliseconds, once: a first picture that wants no details goes before.
  const bool all = options.logged == LookoutOptions::Logged::all;
  if (!all || wanted.has_details() || has_looked) {
    if (!log) {
      log.emplace(sources.kernel_log, sources.proc,
                  all ? DriverLog::From::beginning : DriverLog::From::end);
    }
    const DriverMessages told = log->read(clock.wall_now());
    xids.add_logged(told.errors);
    driver_loaded = told.loaded;
  }
  has_looked = true;
  Snapshot snapshot = finished_snapshot(std::move(progress));
  snapshot.xids = xids.all();
  snapshot.driver_loaded = driver_loaded;
  progress = {};
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
void Lookout::Parts::forget_what_may_be_asked_again(Clock& clock) {
  const bool any = std::any_of(hung.begin(), hung.end(), [&](const auto& entry) {
    return clock.now() >= entry.second.retry_at;
  });
  if (any) end_child();
}

Lookout::Lookout(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Lookout::Lookout(Lookout&&) noexcept = default;
Lookout& Lookout::operator=(Lookout&&) noexcept = default;
Lookout::~Lookout() {
  if (!parts_) return;
  parts_->end_child();
  parts_->reap_left();
}

Result<Lookout> Lookout::start(const Sources& sources, LookoutOptions options) {
  auto parts = std::make_unique<Parts>();
  parts->sources = sources;
  parts->options = std::move(options);
  if (sources.simulated || sources.replay) {
    auto observer = Observer::start(sources);
    if (!observer) return std::unexpected(std::move(observer).error());
    parts->observer.emplace(std::move(*observer));
    return Lookout(std::move(parts));
  }
  auto channel = Channel::open();
  if (!channel) return std::unexpected(std::move(channel).error());
  parts->channel.emplace(std::move(*channel));
  return Lookout(std::move(parts));
}

bool Lookout::is_looking() const { return parts_->looking; }

void Lookout::begin(const Wanted& wanted, std::vector<Claim> claims, Clock& clock) {
  Parts& parts = *parts_;
  parts.looking = true;
  parts.wanted = wanted;
  parts.claims = std::move(claims);
  const Instant began = clock.now();
  Patience patience = parts.options.patience;
  if (parts.child) patience.opening = std::min(patience.opening, parts.options.reopening);
  parts.deadlines.emplace(patience, began);
  parts.began_wall = clock.wall_now();
  if (parts.observer) {
    parts.observed = parts.observer->look(wanted, parts.claims, parts.began_wall);
    return;
  }
  parts.reap_left();
  parts.failed = false;
  parts.forget_what_may_be_asked_again(clock);
  parts.progress = parts.base(began);
  parts.progress.snapshot.taken = parts.began_wall;
  if (!parts.child) {
    parts.start_child(clock);
  } else {
    parts.channel->clear();
    parts.taken_in = 0;
    parts.unpacker = {};
    parts.steps = parts.channel->steps();
  }
  if (!parts.child) return;
  // Where it has died meanwhile, its closed pipe says so.
  static_cast<void>(write_without_signal(parts.child->requests.get(),
                                         encoded(wanted, parts.claims, parts.began_wall)));
}

std::optional<int> Lookout::descriptor() const {
  if (!parts_->looking || !parts_->child) return std::nullopt;
  return parts_->child->answers.get();
}

Duration Lookout::patience() const {
  if (!parts_->child) return Duration{0};
  return milliseconds(50);
}

std::optional<Snapshot> Lookout::Parts::after_death(Clock& clock) {
  if (const auto pidfd = open_pidfd(child->pid)) {
    static_cast<void>(wait_readable({pidfd->get()}, milliseconds(50)));
  }
  const GivenUp died{.why = GivenUp::Why::died, .how = how_it_ended(reap_if_ended(child->pid))};
  left.push_back(child->pid);
  child.reset();
  return without(died, clock);
}

std::optional<Snapshot> Lookout::advance(Clock& clock) {
  Parts& parts = *parts_;
  if (!parts.looking) return std::nullopt;
  if (parts.observer) {
    parts.looking = false;
    return std::exchange(parts.observed, std::nullopt);
  }
  if (parts.failed || !parts.child) return parts.finish(clock);
  const int answers = parts.child->answers.get();
  const bool news = wait_readable({answers}, Duration{0}).front();
  parts.take_in(clock);
  if (parts.unpacker.is_broken()) {  // also of one that says it is done: the rest cannot be read
    parts.deadlines->gave_up(clock.now());
    parts.end_child();
    if (auto snapshot = parts.without(scribbled(), clock)) return snapshot;
  } else if (news) {
    char bell = 0;
    if (::read(answers, &bell, 1) == 1) {
      // What hung and answered now, or is not there to be asked any more, is well again.
      std::erase_if(parts.hung,
                    [&](const auto& entry) { return !parts.progress.is_given_up(entry.first); });
      return parts.finish(clock);
    }
    if (auto snapshot = parts.after_death(clock)) return snapshot;
  } else if (clock.now() >= parts.silence_ends(clock)) {
    const Duration waited = parts.deadlines->silent(clock.now());
    parts.deadlines->gave_up(clock.now());
    parts.end_child();
    const GivenUp stalled{.why = GivenUp::Why::stalled, .waited = waited};
    if (auto snapshot = parts.without(stalled, clock)) return snapshot;
  } else {
    return std::nullopt;
  }
  if (clock.now() >= parts.deadlines->end_of_all()) {
    give_up_nvml(parts.progress, {.why = GivenUp::Why::out_of_time});
    return parts.finish(clock);
  }
  // A new process goes on where this one stopped.
  parts.start_child(clock);
  if (!parts.child) return parts.finish(clock);
  static_cast<void>(write_without_signal(parts.child->requests.get(),
                                         encoded(parts.wanted, parts.claims, parts.began_wall)));
  return std::nullopt;
}

Snapshot Lookout::look(const Wanted& wanted, std::vector<Claim> claims, Clock& clock) {
  begin(wanted, std::move(claims), clock);
  while (true) {
    if (auto snapshot = advance(clock)) return std::move(*snapshot);
    if (const auto news = descriptor()) static_cast<void>(wait_readable({*news}, patience()));
  }
}

std::optional<pid_t> Lookout::probe_process() const {
  return parts_->child ? std::optional(parts_->child->pid) : std::nullopt;
}

std::optional<WallTime> Lookout::unanswered_since(Clock& clock) const {
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
