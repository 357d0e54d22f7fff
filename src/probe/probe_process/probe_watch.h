#pragma once
// ProbeWatch: a probe process as it is watched. It asks a driver, or the kernel, or both. Either
// can block for ever, and a process with a thread stuck in the kernel cannot even exit. What hangs
// is given up, and a Problem says so; a new probe process goes on behind it. What was given up is
// asked again only after a while. So a hung device delays one look by some tenths of a second, not
// every look.

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "probe/probe_process/ask.h"
#include "probe/probe_process/channel.h"
#include "probe/probe_process/child.h"
#include "probe/probe_process/patience.h"
#include "probe/probe_process/progress.h"
#include "probe/sources.h"

namespace berth {

struct CollectorOptions {
  /// Once: the probe process ends with its answer, which the caller need not wait for.
  Looks looks = Looks::again;
  Patience patience = {};
  /// What hung is asked again after this long, then after twice as long, up to five minutes.
  Duration retry = std::chrono::seconds(10);
  /// What Patience::opening is for a probe process that has looked before: its library is open.
  Duration reopening = std::chrono::seconds(10);
  /// Which errors of the kernel log a look has: all that are there, or those of our own time. One
  /// look has them where all relations are wanted.
  enum class Logged { all, new_ones } logged = Logged::all;
  /// Instead of the machine's sources, and of a kill: for tests.
  Ask ask = nullptr;
  std::vector<DeviceKind> asked_of = {DeviceKind::nvidia_gpu};  // the drivers that `ask` plays
  std::function<void(pid_t)> end_process = nullptr;
};

class ProbeWatch {
 public:
  /// Both outlive it.
  ProbeWatch(const Sources& sources, const CollectorOptions& options, Asked asked)
      : sources_(&sources), options_(&options), asked_(asked) {}
  ProbeWatch(const ProbeWatch&) = delete;
  ProbeWatch& operator=(const ProbeWatch&) = delete;
  ~ProbeWatch();

  /// Has the driver's library started before it is known what is wanted.
  void open(Clock& clock);
  /// Begins a look; none may be under way. `so_far`: what others told; a new process goes on there.
  void begin(const CollectRequest& wanted, Clock& clock,
             std::optional<Snapshot> so_far = std::nullopt);
  [[nodiscard]] bool is_looking() const { return is_looking_; }
  /// Readable when the look under way is over (or its process died); nothing: advance() at once.
  [[nodiscard]] std::optional<int> descriptor() const;
  /// How long to poll before advance() is due all the same.
  [[nodiscard]] Duration patience(Clock& clock) const;

  struct Looked {
    Snapshot snapshot;
    Reading<std::vector<XidEvent>> driver_events;
  };
  /// What it told, once the look is over. Never blocks for longer than a dying child takes.
  [[nodiscard]] std::optional<Looked> advance(Clock& clock);

  [[nodiscard]] Asked asked() const { return asked_; }
  /// Since when something that the driver was asked has not answered; nothing: all answers.
  [[nodiscard]] std::optional<WallTime> unanswered_since(Clock& clock) const;
  /// The process that asks now; nothing: none runs.
  [[nodiscard]] std::optional<pid_t> process() const;

 private:
  struct Hung {
    WallTime since;
    Instant retry_at;
    Duration wait{};
    GivenUp why;
  };

  [[nodiscard]] Progress base(Instant now) const;
  void start_child(Clock& clock);
  void request();
  void end_child();
  void reap_left();
  void take_in(Clock& clock);
  [[nodiscard]] Instant silence_ends(Clock& clock) const;
  [[nodiscard]] Looked finish();
  [[nodiscard]] std::optional<Looked> after_death(Clock& clock);
  [[nodiscard]] std::optional<Looked> after_silence(Clock& clock);
  void tell_slow_start(Clock& clock);
  [[nodiscard]] std::optional<Looked> without(const GivenUp& why, Clock& clock);
  void forget_what_may_be_asked_again(Clock& clock);

  const Sources* sources_;
  const CollectorOptions* options_;
  Asked asked_;
  std::optional<Channel> channel_;
  std::optional<ProbeChild> child_;
  std::vector<pid_t> left_;  // killed and not yet gone
  EndingChild ending_;       // has told all of its one look
  std::map<wire::ProbeStep, Hung> hung_;
  std::map<std::uint64_t, Device> known_;  // rows of devices, for when one does not answer

  bool is_looking_ = false;
  bool failed_ = false;       // no process could be started
  bool is_expected_ = false;  // a process was started for a look that has not begun
  bool has_told_slow_start_ = false;
  CollectRequest wanted_;
  Progress progress_;
  std::optional<Deadlines> deadlines_;
  WallTime began_wall_;
  std::size_t taken_in_ = 0;  // bytes of the channel
  wire::Unpacker unpacker_;
  std::uint64_t steps_ = 0;
};

}  // namespace berth
