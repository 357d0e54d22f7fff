#include "app/considered.h"

#include <optional>
#include <utility>

#include "app/run_options.h"
#include "run/inside.h"

namespace berth {

Result<Considered> considered(Context& context, const Request& request, Snapshot looked) {
  auto limits = inherited_limits(context, looked);
  if (!limits) return std::unexpected(std::move(limits).error());
  AcquireOptions options{.request = request, .limits = std::move(*limits)};
  Considered made{.snapshot = std::move(looked)};
  // A recording has its own leases, and we are in none of them.
  if (!context.replay()) {
    LedgerView view = context.read_ledger();
    std::optional<Ledger> ledger;
    TakeSnapshot look = [&made]() -> Result<Snapshot> { return made.snapshot; };
    const auto lease = context.variable("BERTH_LEASE");
    if (lease && !view.claims.empty()) {
      auto opened = context.open_ledger();
      if (!opened) return std::unexpected(std::move(opened).error());
      ledger.emplace(std::move(*opened));
      auto inside = enter_outer_lease(*ledger, lease, context.clock(), options, look);
      if (!inside) return std::unexpected(std::move(inside).error());
      auto inner = *inside ? (*inside)->ledger.read() : Result<LedgerView>(std::move(view));
      if (!inner) return std::unexpected(std::move(inner).error());
      view = std::move(*inner);
      made.snapshot = std::move(*look());
    }
    HolderNames names;
    add_ledger(made.snapshot, std::move(view), context.clock().now(), names);
  }
  made.placement = place_newcomer(made.snapshot, options.request, options.limits);
  made.request = std::move(options.request);
  return made;
}

}  // namespace berth
