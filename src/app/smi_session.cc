#include "app/smi_session.h"

#include <algorithm>

#include "app/output.h"
#include "app/terminal.h"
#include "base/text.h"
#include "base/tr.h"

namespace berth {

Snapshot ContextSource::look(const Wanted& wanted) {
  auto snapshot = looked(wanted);
  if (!snapshot) {
    Snapshot nothing;
    nothing.problems.push_back({.source = "nvml",
                                .device = std::nullopt,
                                .code = "look_failed",
                                .message = snapshot.error().said()});
    return nothing;
  }
  // stdout is a format that has no place for it.
  if (!std::exchange(said_simulated_, snapshot->simulated.has_value())) {
    say_simulated(snapshot->simulated);
  }
  if (before_) smi::add_rates(*snapshot, *before_);
  if (repeats_) before_ = *snapshot;
  return *std::move(snapshot);
}

Result<Snapshot> ContextSource::looked(Wanted wanted) {
  wanted.add(Extra::sleepers);  // as nvidia-smi does
  if (!repeats_) return context_.look(wanted);
  if (!live_) {
    auto live = Live::start(context_);
    if (!live) return std::unexpected(std::move(live).error());
    live_.emplace(std::move(*live));
  }
  return live_->look(wanted);
}

smi::Clockface clockface_of(Context& context) {
  return {.utc_offset = context.out().offset_at(context.clock().wall_now())};
}

int again_and_again(Context& context, std::chrono::milliseconds every,
                    std::optional<std::uint64_t> times,
                    const std::function<bool(std::uint64_t)>& once) {
  const InterruptNote interrupt;
  Instant next = context.clock().now();
  for (std::uint64_t tick = 0; InterruptNote::signal() == 0; ++tick) {
    if (times && tick == *times) return exit_code::ok;
    if (!once(tick)) return exit_code::ok;
    if (times && tick + 1 == *times) return exit_code::ok;
    next = std::max(next + every, context.clock().now());
    InterruptNote::wait_until(next, context.clock());
  }
  return 128 + InterruptNote::signal();
}

}  // namespace berth
