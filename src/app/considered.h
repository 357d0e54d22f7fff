#pragma once
// What `berth pick` and `berth run --dry-run` answer from: the choice that `berth run` would make
// here, inside a lease among what that has.

#include "app/context.h"
#include "base/result.h"
#include "place/placement.h"
#include "place/request.h"

namespace berth {

struct Considered {
  Request request;  // inside a lease: for its share at most
  Snapshot snapshot;
  Placement placement;
};

/// From a look without claims. invalid: more is asked for than the lease has that we are in, or
/// CUDA_VISIBLE_DEVICES cannot be understood. Where the ledger could not be read, the context says
/// why, and nothing here counts.
[[nodiscard]] Result<Considered> considered(Context& context, const Request& request,
                                            Snapshot looked);

}  // namespace berth
