#include "app/live.h"

#include <memory>
#include <utility>

#include "base/signals.h"
#include "health/health.h"

namespace berth {

Result<Sight> open_sight(const Context& context, Clock& clock) {
  using std::chrono::seconds;
  auto collector = context.collector({.patience = {.whole = seconds(30),
                                                   .stall = seconds(10),
                                                   .opening = seconds(30),
                                                   .waking = seconds(20)},
                                      .logged = CollectorOptions::Logged::new_ones});
  if (!collector) return std::unexpected(std::move(collector).error());
  auto shared = std::make_shared<Collector>(std::move(*collector));  // std::function must copy
  // The first look is for the manifest's facts, the others once a second for the samples.
  return Sight([shared, depth = Depth::everything, &clock](const std::vector<Claim>& claims,
                                                           WallTime) mutable {
    return shared->collect({.wanted = std::exchange(depth, Depth::state), .claims = claims}, clock);
  });
}

RunServices services_of_runs(Context& context, Ledger* ledger) {
  return {.clock = context.clock(),
          .ledger = ledger,
          .faults = faults_of,
          .sight = [&context] { return open_sight(context, context.clock()); },
          .simulated = context.sources().simulated};
}

Result<Live> Live::start(Context& context) {
  context.close_driver();
  auto collector = context.collector();
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
  return context_->judged(*std::move(snapshot), wanted_, std::exchange(view_, {}));
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
