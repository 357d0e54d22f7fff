#include "app/top_loop.h"

#include <csignal>
#include <optional>
#include <utility>

#include "app/live.h"
#include "app/output.h"
#include "app/terminal.h"
#include "base/fd.h"
#include "base/owned_file.h"
#include "base/process.h"
#include "base/signals.h"
#include "base/tr.h"
#include "probe/process_files.h"
#include "probe/replay/tape.h"
#include "top/history.h"
#include "top/input.h"
#include "top/render.h"
#include "top/screen_writer.h"

namespace berth {

namespace {

using std::chrono::milliseconds;

constexpr const char* settings_file = "top";

class TopLoop {
 public:
  TopLoop(Context& context, TopOptions options, Terminal terminal, SignalQueue signals)
      : context_(context),
        options_(std::move(options)),
        terminal_(std::move(terminal)),
        signals_(std::move(signals)),
        state_(std::move(options_.state)),
        begun_with_(state_),
        history_(state_.interval) {
    if (options_.recording) tape_.emplace(std::move(*options_.recording));
  }

  int run();

 private:
  void begin_look();
  void take_look();
  void show_tape();
  void start_tape_clock();
  /// Whether it is a point of the charts; what stands in for another line of a recording is none.
  enum class Charted { yes, no };
  void seen(Snapshot snapshot, Charted charted = Charted::yes);
  void seen_on_tape();
  void hear(const top::Event& event);
  void pause_or_go_on();
  void carry_out(const top::Command& command);
  void do_to_each(const std::vector<top::Target>& targets,
                  const std::function<Result<void>(const ProcessId&)>& act,
                  const std::string& done);
  void send_signal_to(const top::SendSignal& command);
  void renice(const top::Renice& command);
  void read_keys();
  void read_signals();
  void suspend(int signal);
  void draw();
  void wait();
  void tell_time();
  void flush();
  void look_if_due();
  [[nodiscard]] top::HostUse host_use();
  void remember() const;
  [[nodiscard]] Duration until_due(Instant now) const;

  Context& context_;
  TopOptions options_;
  Terminal terminal_;
  SignalQueue signals_;
  top::State state_;
  top::State begun_with_;
  top::History history_;
  /// While the picture stands still: what it shows, and what came meanwhile.
  struct Pause {
    top::History shown;
    std::optional<top::Looked> latest;
  };
  std::optional<Pause> pause_;
  top::HostMeter host_meter_;
  top::InputDecoder decoder_;
  std::optional<Live> live_;
  std::optional<Tape> tape_;
  std::optional<ProcessFilesLook> files_;
  std::optional<top::Screen> shown_;
  top::Screen spare_;  // the memory of the picture before that
  top::Theme shown_theme_ = top::Theme::dark;
  Instant next_look_{};
  Instant key_deadline_{};
  static constexpr Duration shortest_wait = std::chrono::microseconds(500);
  Duration flush_wait_ = shortest_wait;
  bool changed_ = true;
  bool chosen_ = false;
  int ended_by_ = 0;  // a signal
  std::optional<Error> failure_;
};

void TopLoop::hear(const top::Event& event) {
  const Duration interval = state_.interval;
  const Language language = state_.language;
  const bool paused = state_.paused;
  const double speed = state_.speed;
  state_ = top::update(std::move(state_), event);
  changed_ = true;
  if (tape_ && (state_.paused != paused || state_.speed != speed)) start_tape_clock();
  if (!tape_ && state_.paused != paused) pause_or_go_on();
  if (state_.interval != interval) {
    history_.set_cadence(state_.interval);
    next_look_ = std::min(next_look_, context_.clock().now() + state_.interval);
  }
  if (state_.language != language) set_language(state_.language);
  for (const top::Command& command : std::exchange(state_.wanted, {})) carry_out(command);
}

void TopLoop::pause_or_go_on() {
  if (state_.paused) {
    if (state_.seen) pause_.emplace(Pause{.shown = history_, .latest = std::nullopt});
  } else if (const auto pause = std::exchange(pause_, std::nullopt); pause && pause->latest) {
    hear(*pause->latest);
  }
}

/// The next snapshot of a tape is due when its time has passed from now on.
void TopLoop::start_tape_clock() {
  const auto due = tape_->until_next(state_.speed);
  next_look_ = context_.clock().now() + due.value_or(std::chrono::hours(1));
}

void TopLoop::seen(Snapshot snapshot, Charted charted) {
  if (options_.choose && !std::exchange(chosen_, true)) {
    auto chosen = options_.choose(snapshot);
    if (!chosen) {
      failure_ = std::move(chosen).error();
      state_.quits = true;
      return;
    }
    for (DeviceId& id : *chosen) state_.only_devices.insert(std::move(id));
  }
  if (charted == Charted::yes) history_.add(snapshot);
  const bool is_this_host = !tape_ && !snapshot.simulated;
  top::Looked looked{std::make_shared<const top::Seen>(std::move(snapshot)), history_.cpu(),
                     is_this_host ? host_use() : top::HostUse()};
  if (charted == Charted::yes) history_.add_host(looked.host);
  if (pause_) pause_->latest = looked;
  hear(looked);
  if (!tape_ && !pause_ && state_.paused) pause_or_go_on();  // paused before the first picture
}

top::HostUse TopLoop::host_use() {
  const std::string& proc = context_.sources().proc;
  const auto text = [&](const char* name) {
    return read_proc_file(proc + name).value_or(std::string());
  };
  return host_meter_.take(text("/stat"), text("/meminfo"), text("/loadavg"));
}

void TopLoop::seen_on_tape() {
  Tape::TapedLook look = tape_->now();
  seen(context_.judged(std::move(look.snapshot), Depth::everything, {}),
       look.stands_in ? Charted::no : Charted::yes);
}

void TopLoop::begin_look() {
  live_->begin(Depth::everything);
  next_look_ = context_.clock().now() + state_.interval;
  if (!live_->descriptor()) take_look();
}

void TopLoop::take_look() {
  auto snapshot = live_->advance();
  const auto since = live_->unanswered_since();
  if (since != state_.unanswered_since) hear(top::Unanswered{since});
  if (snapshot) seen(std::move(*snapshot));
}

void TopLoop::show_tape() {
  // The charts' past is read again: the playhead may have gone anywhere.
  history_ = top::History(tape_->until_next(1).value_or(state_.interval));
  constexpr std::size_t past = 120;
  for (const Snapshot& snapshot : tape_->before(past)) history_.add(snapshot);
  seen_on_tape();
  hear(top::TapePlace{.position = tape_->position(), .count = tape_->size()});
}

/// `done`: what to say where it was done to all of them.
void TopLoop::do_to_each(const std::vector<top::Target>& targets,
                         const std::function<Result<void>(const ProcessId&)>& act,
                         const std::string& done) {
  std::string failed;
  for (const top::Target& target : targets) {
    const auto went = act(target.process);
    if (!went) failed += (failed.empty() ? "" : "; ") + went.error().shown();
  }
  if (failed.empty()) return hear(top::Outcome{.text = done});
  hear(top::Outcome{.text = failed, .good = false});
}

void TopLoop::send_signal_to(const top::SendSignal& command) {
  do_to_each(
      command.to, [&](const ProcessId& process) { return send_signal(process, command.signal); },
      command.to.size() == 1 ? trf("{} was sent to {}", command.name, command.to[0].process.pid)
                             : trf("{} was sent to {} processes", command.name, command.to.size()));
  next_look_ = std::min(next_look_, context_.clock().now() + milliseconds(100));
}

void TopLoop::renice(const top::Renice& command) {
  do_to_each(
      command.to, [&](const ProcessId& process) { return set_nice(process, command.nice); },
      command.to.size() == 1
          ? trf("the nice value of {} is {} now", command.to[0].process.pid, command.nice)
          : trf("the nice value of {} processes is {} now", command.to.size(), command.nice));
}

void TopLoop::carry_out(const top::Command& command) {
  if (const auto* signal = std::get_if<top::SendSignal>(&command)) return send_signal_to(*signal);
  if (const auto* niceness = std::get_if<top::Renice>(&command)) return renice(*niceness);
  if (const auto* details = std::get_if<top::ReadDetails>(&command)) {
    if (tape_) return;
    auto look = ProcessFilesLook::start(details->process, context_.clock());
    if (look) files_.emplace(std::move(*look));
    if (!look) hear(top::Outcome{.text = look.error().message(), .good = false});
  } else if (const auto* step = std::get_if<top::SkipSnapshots>(&command)) {
    if (!tape_) return;
    tape_->step(step->by);
    show_tape();
  } else if (std::holds_alternative<top::Suspend>(command)) {
    suspend(SIGTSTP);
  } else {
    shown_.reset();
  }
}

void TopLoop::suspend(int signal) {
  terminal_.leave();
  constexpr int most_tries = 10;  // nobody may be there who could bring us back
  for (int i = 0; i < most_tries; ++i) {
    stop_self(i == 0 ? signal : SIGTTOU);
    if (terminal_.is_ours()) break;
    if (i + 1 == most_tries) state_.quits = true;
  }
  if (state_.quits) return;
  if (const auto entered = terminal_.enter(); !entered) {
    failure_ = entered.error();
    state_.quits = true;
  }
  shown_.reset();
  hear(top::Resized{terminal_.size()});
}

void TopLoop::read_signals() {
  while (const auto signal = signals_.next()) {
    switch (signal->number) {
      case SIGWINCH:
        hear(top::Resized{terminal_.size()});
        break;
      case SIGTSTP:
      case SIGTTIN:
      case SIGTTOU:
        suspend(signal->number);
        break;
      case SIGCONT:
        shown_.reset();
        changed_ = true;
        break;
      case SIGTERM:
      case SIGHUP:
      case SIGINT:
      case SIGQUIT:
      case SIGABRT:
        ended_by_ = signal->number;
        state_.quits = true;
        break;
      default:  // children's ends and broken pipes tell by themselves
        break;
    }
  }
}

void TopLoop::read_keys() {
  const auto bytes = terminal_.read();
  if (!bytes) {  // the terminal has gone
    ended_by_ = SIGHUP;
    state_.quits = true;
    return;
  }
  for (const top::Input& input : decoder_.feed(*bytes)) {
    std::visit([&](const auto& one) { hear(one); }, input);
  }
  if (const auto patience = decoder_.patience()) key_deadline_ = context_.clock().now() + *patience;
}

void TopLoop::draw() {
  if (!changed_ || terminal_.is_behind()) return;
  changed_ = false;
  const top::History& history = pause_ ? pause_->shown : history_;
  top::Screen screen = top::render(state_, history, context_.out(), std::move(spare_));
  if (shown_theme_ != state_.theme) shown_.reset();
  shown_theme_ = state_.theme;
  terminal_.write(top::changes(shown_ ? &*shown_ : nullptr, screen, state_.theme));
  if (shown_) spare_ = std::move(*shown_);
  shown_ = std::move(screen);
}

/// How long nothing has to be done.
Duration TopLoop::until_due(Instant now) const {
  Duration due = std::chrono::seconds(1);
  if (terminal_.is_behind()) due = std::min(due, flush_wait_);
  if (decoder_.patience()) due = std::min(due, key_deadline_ - now);
  if (live_ && live_->is_looking()) due = std::min(due, live_->patience());
  if (live_ && !live_->is_looking()) due = std::min(due, next_look_ - now);
  if (tape_ && !state_.paused) due = std::min(due, next_look_ - now);
  return std::max(due, Duration{0});
}

/// Waits for whatever comes first and takes it in.
void TopLoop::wait() {
  std::vector<int> waited = {Terminal::input(), signals_.descriptor()};
  const auto news = live_ ? live_->descriptor() : std::nullopt;
  if (news) waited.push_back(*news);
  if (files_) waited.push_back(files_->descriptor());
  const std::vector<bool> ready = wait_readable(waited, until_due(context_.clock().now()));
  const Instant now = context_.clock().now();
  tell_time();
  if (ready[1]) read_signals();
  if (ready[0] && !state_.quits) read_keys();
  if (decoder_.patience() && now >= key_deadline_) {
    for (const top::Input& input : decoder_.silence()) {
      std::visit([&](const auto& one) { hear(one); }, input);
    }
  }
  if (files_) {
    if (auto read = files_->advance(context_.clock())) {
      hear(top::ProcessDetails{.process = files_->process(),
                               .environment_names = std::move(read->environment_names),
                               .device_files = std::move(read->device_files)});
      files_.reset();
    }
  }
  flush();
}

/// A terminal takes a picture in pieces of some kilobytes, a moment apart. A stopped terminal takes
/// nothing for long, and is asked less and less often.
void TopLoop::flush() {
  if (terminal_.is_behind()) terminal_.flush();
  constexpr Duration longest = milliseconds(50);
  flush_wait_ = terminal_.is_behind() ? std::min(flush_wait_ * 2, longest) : shortest_wait;
}

/// The time by itself changes the picture only where a message has been shown for long enough.
void TopLoop::tell_time() {
  const bool changed = changed_;
  const bool had_message = state_.message.has_value();
  hear(top::Tick{context_.clock().wall_now()});
  changed_ = changed || had_message != state_.message.has_value();
}

/// Looks, or moves the tape on, where it is time.
void TopLoop::look_if_due() {
  const Instant now = context_.clock().now();
  if (tape_) {
    if (state_.paused || now < next_look_) return;
    if (tape_->until_next(1)) {
      tape_->step(1);
      seen_on_tape();
      hear(top::TapePlace{.position = tape_->position(), .count = tape_->size()});
    }
    start_tape_clock();
  } else if (live_->is_looking()) {
    take_look();
  } else if (now >= next_look_) {
    begin_look();
  }
}

/// Changes made here last to the next time. If the folder is not ours, as under sudo with another
/// user's $HOME, nothing is written.
void TopLoop::remember() const {
  const top::Settings now = top::with_changes(options_.remembered, begun_with_, state_);
  const auto folder = context_.state_directory();
  if (now == options_.remembered || !folder) return;
  auto done = make_directories(*folder, 0700);
  const auto owner = owner_of_folder(*folder);
  if (done && owner && owner->uid != FileOwner::ourselves().uid) return;
  if (done) {
    done = write_file_atomically(*folder + "/" + settings_file, top::text_of(now), 0600);
  }
  if (!done) complain(trf("the settings are not kept: {}", done.error().shown()));
}

int TopLoop::run() {
  if (!tape_) {
    auto live = Live::start(context_);
    if (!live) return report(live.error());
    live_.emplace(std::move(*live));
    begin_look();  // before anything is drawn: the driver takes its time meanwhile
  }
  if (const auto entered = terminal_.enter(); !entered) return report(entered.error());
  state_.now = context_.clock().wall_now();
  hear(top::Resized{terminal_.size()});
  if (tape_) {
    show_tape();
    start_tape_clock();
  }
  while (!state_.quits) {
    draw();
    wait();
    look_if_due();
  }
  terminal_.leave();
  remember();
  if (failure_) return report(*failure_);
  return ended_by_ != 0 ? end_like({.code = 0, .signal = ended_by_}) : exit_code::ok;
}

}  // namespace

top::Settings remembered_settings(const Context& context) {
  const auto folder = context.state_directory();
  if (!folder) return {};
  constexpr std::size_t most_bytes = 1 << 16;
  const auto text = read_file_of(FileOwner::ourselves(), *folder, settings_file, most_bytes);
  return text ? top::settings_from(*text) : top::Settings();
}

int run_top(Context& context, TopOptions options) {
  auto terminal = Terminal::open();
  if (!terminal) return report(terminal.error(), exit_code::usage);
  auto signals = SignalQueue::open();
  if (!signals) return report(signals.error());
  return TopLoop(context, std::move(options), std::move(*terminal), std::move(*signals)).run();
}

}  // namespace berth
