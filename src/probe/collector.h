#pragma once
// Collector: takes one look at the machine, or a look per interval. It never blocks: the sources
// are asked in probe processes (probe_process/probe_watch.h). Where there are cards of one maker,
// one process asks the driver and then the kernel. Where there are several makers, each driver has
// its own process, all at the same time. Another process goes on with what they told: no driver
// delays another's rows. A card that the driver no longer lists is shown as lost. Errors told by
// the driver's events stay.
//
//   auto collector = Collector::start(sources, {});
//   collector->begin({.wanted = Depth::everything, .claims = claims}, clock);
//   … poll collector->descriptor(), at most collector->patience() long …
//   if (auto snapshot = collector->advance(clock)) show(*snapshot);

#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/result.h"
#include "probe/probe_process/probe_watch.h"
#include "probe/replay/replay.h"
#include "probe/sources.h"

namespace berth {

class Collector {
 public:
  /// invalid: the scenario cannot be read.
  [[nodiscard]] static Result<Collector> start(const Sources& sources,
                                               CollectorOptions options = {});
  /// Shows a recording, and asks nothing of this machine. invalid: its first snapshot cannot be
  /// read.
  [[nodiscard]] static Result<Collector> play(Recording recording, Looks looks);
  Collector(Collector&&) noexcept;
  Collector& operator=(Collector&&) noexcept;
  ~Collector();

  /// Has the driver's library started while the caller finds out what it wants.
  void open(Clock& clock);
  /// Begins a look; none may be under way.
  void begin(CollectRequest request, Clock& clock);
  [[nodiscard]] bool is_looking() const;
  /// Readable when the look under way is over (or its process died); nothing: advance() at once.
  [[nodiscard]] std::optional<int> descriptor() const;
  /// How long to poll before advance() is due all the same.
  [[nodiscard]] Duration patience(Clock& clock) const;
  /// The snapshot, once the look is over. Never blocks for longer than a dying child takes.
  [[nodiscard]] std::optional<Snapshot> advance(Clock& clock);
  /// One look, waited for. Never fails: what is missing is in the snapshot's problems.
  [[nodiscard]] Snapshot collect(CollectRequest request, Clock& clock);
  /// Since when something that was asked has not answered; nothing: all answers.
  [[nodiscard]] std::optional<WallTime> unanswered_since(Clock& clock) const;
  /// The process that asks the driver now; nothing: none runs.
  [[nodiscard]] std::optional<pid_t> probe_process() const;

 private:
  struct Parts;
  explicit Collector(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

/// One look by a collector of its own.
[[nodiscard]] Result<Snapshot> collect(const Sources& sources, CollectRequest request, Clock& clock,
                                       Patience patience = {});

}  // namespace berth
