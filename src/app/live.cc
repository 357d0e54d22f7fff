#include "app/live.h"

#include <utility>

#include "base/signals.h"
#include "health/faults.h"

namespace berth {

Result<Live> Live::start(Context& context) {
  auto lookout = Lookout::start(context.sources());
  if (!lookout) return std::unexpected(std::move(lookout).error());
  return Live(context, std::move(*lookout));
}

void Live::begin(Depth depth) {
  // A recording has its own leases.
  view_ = context_->sources().replay ? LedgerView{} : context_->read_ledger();
  lookout_.begin(depth, view_.claims, context_->clock());
}

std::optional<Snapshot> Live::advance() {
  auto snapshot = lookout_.advance(context_->clock());
  if (!snapshot) return std::nullopt;
  snapshot->faults = failed_devices(*snapshot);
  if (context_->sources().replay) return snapshot;
  add_ledger(*snapshot, std::exchange(view_, {}), context_->clock().now(), names_);
  return snapshot;
}

std::optional<WallTime> Live::unanswered_since() const {
  return lookout_.unanswered_since(context_->clock());
}

Snapshot Live::look(Depth depth) {
  begin(depth);
  while (true) {
    if (auto snapshot = advance()) return std::move(*snapshot);
    if (const auto news = descriptor()) {
      static_cast<void>(wait_readable({*news}, patience()));
    }
  }
}

}  // namespace berth
