#pragma once
// Live: the machine as somebody watches it, by looks that never block. It adds what the ledger
// says, as Context::look() does.

#include <optional>
#include <set>
#include <string>

#include "app/context.h"
#include "probe/collector.h"
#include "run/run.h"

namespace berth {

/// The looks of a run's sampler, which it takes itself. Nobody waits for a sample, so a slow driver
/// gets its time. A device that does not answer may have its job stopped (--on-gpu-fault).
[[nodiscard]] Result<Sight> open_sight(const Context& context, Clock& clock);

/// What each run needs, also one that was begun by hand: its clock, ledger, judge and samples.
[[nodiscard]] RunServices services_of_runs(Context& context, Ledger* ledger);

class Live {
 public:
  [[nodiscard]] static Result<Live> start(Context& context);

  void begin(const Wanted& wanted);
  [[nodiscard]] bool is_looking() const { return collector_.is_looking(); }
  [[nodiscard]] std::optional<int> descriptor() const { return collector_.descriptor(); }
  [[nodiscard]] Duration patience() const { return collector_.patience(context_->clock()); }
  [[nodiscard]] std::optional<Snapshot> advance();
  [[nodiscard]] std::optional<WallTime> unanswered_since() const;
  [[nodiscard]] std::optional<pid_t> probe_process() const { return collector_.probe_process(); }
  /// One look, waited for.
  [[nodiscard]] Snapshot look(const Wanted& wanted);

 private:
  Live(Context& context, Collector collector)
      : context_(&context), collector_(std::move(collector)) {}
  Context* context_;
  Collector collector_;
  Wanted wanted_;  // of the look under way
  LedgerView view_;
};

/// Problems that a repeating command tells once, however often it sees them.
class SaidProblems {
 public:
  /// Not by its words: how long was waited is another time at each look.
  [[nodiscard]] bool is_new(const Problem& problem) {
    const std::string subject = problem.device.value_or(DeviceId()).text();
    return said_.insert(problem.source + " " + subject + " " + problem.code).second;
  }

 private:
  std::set<std::string> said_;
};

}  // namespace berth
