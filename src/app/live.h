#pragma once
// Live: the machine as somebody watches it: looks that never block, with what the ledger says
// added, as Context::look() adds it to one.

#include <optional>
#include <vector>

#include "app/context.h"
#include "probe/lookout.h"
#include "snapshot/holders.h"

namespace berth {

class Live {
 public:
  [[nodiscard]] static Result<Live> start(Context& context);

  void begin(const Wanted& wanted);
  [[nodiscard]] bool is_looking() const { return lookout_.is_looking(); }
  [[nodiscard]] std::optional<int> descriptor() const { return lookout_.descriptor(); }
  [[nodiscard]] Duration patience() const { return lookout_.patience(); }
  [[nodiscard]] std::optional<Snapshot> advance();
  [[nodiscard]] std::optional<WallTime> unanswered_since() const;
  [[nodiscard]] std::optional<pid_t> probe_process() const { return lookout_.probe_process(); }
  /// One look, waited for.
  [[nodiscard]] Snapshot look(const Wanted& wanted);

 private:
  Live(Context& context, Lookout lookout) : context_(&context), lookout_(std::move(lookout)) {}
  Context* context_;
  Lookout lookout_;
  Wanted wanted_;  // of the look under way
  LedgerView view_;
  HolderNames names_;
};

}  // namespace berth
