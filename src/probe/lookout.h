#pragma once
// Lookout: looks again and again without ever waiting. One probe process is kept from look to look,
// with the driver's handles in it; whoever looks polls a descriptor beside its others. What hangs
// is given up as in observe(), remembered, and asked again only after a while, so that one hung
// device costs one look some tenths of a second and not each. What was seen earlier is remembered:
// a card that the driver lists no longer is shown as lost, errors that it told by its events stay.
//
//   auto lookout = Lookout::start(sources, {});
//   lookout->begin(Depth::everything, claims, clock);
//   … poll lookout->descriptor(), at most lookout->patience() long …
//   if (auto snapshot = lookout->advance(clock)) show(*snapshot);

#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "probe/observe.h"

namespace berth {

struct LookoutOptions {
  Patience patience = {};
  /// What hung is asked again after this long, then after twice as long, up to five minutes.
  Duration retry = std::chrono::seconds(10);
  /// What Patience::opening is for a probe process that has looked before: its library is open.
  Duration reopening = std::chrono::seconds(10);
  /// Which errors of the kernel log a look has: all that are there, or those of our own time.
  enum class Logged { all, new_ones } logged = Logged::all;
};

class Lookout {
 public:
  /// invalid: the scenario or the recording cannot be read.
  [[nodiscard]] static Result<Lookout> start(const Sources& sources, LookoutOptions options = {});
  Lookout(Lookout&&) noexcept;
  Lookout& operator=(Lookout&&) noexcept;
  ~Lookout();

  /// Begins a look; none may be under way. `claims`: see ObserveOptions.
  void begin(const Wanted& wanted, std::vector<Claim> claims, Clock& clock);
  [[nodiscard]] bool is_looking() const;
  /// Readable when the look under way is over (or its process died); nothing: advance() at once.
  [[nodiscard]] std::optional<int> descriptor() const;
  /// How long to poll before advance() is due all the same.
  [[nodiscard]] Duration patience() const;
  /// The snapshot, once the look is over. Never blocks for longer than a dying child takes.
  [[nodiscard]] std::optional<Snapshot> advance(Clock& clock);
  /// One look, waited for.
  [[nodiscard]] Snapshot look(const Wanted& wanted, std::vector<Claim> claims, Clock& clock);
  /// Since when something that was asked has not answered; nothing: all answers.
  [[nodiscard]] std::optional<WallTime> unanswered_since(Clock& clock) const;
  /// The process that asks the driver now; nothing: none runs.
  [[nodiscard]] std::optional<pid_t> probe_process() const;

 private:
  struct Parts;
  explicit Lookout(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth
