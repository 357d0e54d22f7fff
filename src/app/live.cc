#include "app/live.h"

#include <utility>

#include "base/signals.h"
#include "health/health.h"

namespace berth {

Result<Live> Live::start(Context& context) {
  context.close_driver();
  auto collector = Collector::start(context.sources());
  if (!collector) return std::unexpected(std::move(collector).error());
  return Live(context, std::move(*collector));
}

void Live::begin(const Wanted& wanted) {
  // A recording has its own leases.
  wanted_ = wanted;
  view_ = context_->needs_leases(wanted) ? context_->read_ledger() : LedgerView{};
  collector_.begin({.wanted = wanted, .claims = view_.claims}, context_->clock());
}

std::optional<Snapshot> Live::advance() {
  auto snapshot = collector_.advance(context_->clock());
  if (!snapshot) return std::nullopt;
  // First what is judged failed: nothing of that is kept for who waits.
  if (wanted_.has(Extra::verdicts)) snapshot->faults = failed_devices(*snapshot);
  const bool shows_leases = !context_->sources().replay && wanted_.has(Extra::leases);
  if (shows_leases) {
    add_ledger(*snapshot, std::exchange(view_, {}), context_->clock().now(), names_);
  }
  return snapshot;
}

std::optional<WallTime> Live::unanswered_since() const {
  return collector_.unanswered_since(context_->clock());
}

Snapshot Live::look(const Wanted& wanted) {
  begin(wanted);
  while (true) {
    if (auto snapshot = advance()) return std::move(*snapshot);
    if (const auto news = descriptor()) {
      static_cast<void>(wait_readable({*news}, patience()));
    }
  }
}

}  // namespace berth
