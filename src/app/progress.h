#pragma once
// Progress of acts longer than a second: a bar on stderr, in place, which goes at the end. There is
// none where stderr is no terminal, or where another program is in front of it.

#include <optional>
#include <string>
#include <utility>

#include "app/context.h"

namespace berth {

/// Whether the terminal's line is ours to draw over: a shell's background job shares it with what
/// is in front.
[[nodiscard]] bool is_in_front();

class ProgressBar {
 public:
  /// Most things are over before anybody wonders.
  enum class From { first_second, at_once };
  explicit ProgressBar(const Context& context, From from = From::first_second)
      : context_(context), from_(from), began_(context.clock().now()) {}
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// May be called as often as one likes: it is drawn ten times a second. `share` of the whole, 0
  /// to 1. Nothing: nobody knows how long it will take, so it says how long it took until now.
  void show(std::optional<double> share, const std::string& what);
  /// Takes the line away.
  void clear();

 private:
  const Context& context_;
  From from_;
  Instant began_;
  Instant next_{};
  bool is_drawn_ = false;
};

/// The clock of something that waits by one: while it waits, progress is shown.
class ProgressClock final : public Clock {
 public:
  /// `whole`: how long it takes at most; nothing: that is not known.
  ProgressClock(const Context& context, std::string what,
                std::optional<Duration> whole = std::nullopt)
      : clock_(context.clock()),
        progress_(context),
        what_(std::move(what)),
        whole_(whole),
        began_(clock_.now()) {}
  [[nodiscard]] Instant now() const override;
  [[nodiscard]] WallTime wall_now() const override { return clock_.wall_now(); }
  void wait_until(Instant deadline) override;

 private:
  Clock& clock_;
  mutable ProgressBar progress_;
  std::string what_;
  std::optional<Duration> whole_;
  Instant began_;
};

}  // namespace berth
