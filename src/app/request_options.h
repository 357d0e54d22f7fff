#pragma once
// The request flags that `berth pick` and `berth run` share.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "app/verb.h"
#include "base/result.h"
#include "place/placement.h"
#include "place/request.h"

namespace berth {

class Context;

/// `berth pick` claims nothing, and so has no place in the queue to wait in.
enum class MayWait { yes, no };

class RequestOptions {
 public:
  void declare(Options& options, MayWait may_wait);
  /// `--wait` and `--or-cpu` may stand without a value.
  [[nodiscard]] static std::vector<OptionalValue> optional_values();

  /// The request, or what is wrong with a flag (invalid).
  [[nodiscard]] Result<Request> request() const;
  /// 0: do not wait. Nothing: as long as it takes.
  [[nodiscard]] Result<std::optional<std::chrono::milliseconds>> wait(
      std::optional<std::chrono::milliseconds> without_flag) const;
  /// Nothing: no CPU fallback. 0: at once. Else after how long, whether --or-cpu says so or --wait
  /// beside it.
  [[nodiscard]] Result<std::optional<std::chrono::milliseconds>> or_cpu() const;
  /// With MayWait::no: what was given that only waiting could do.
  [[nodiscard]] std::optional<Error> mistake_in_patience() const;
  [[nodiscard]] bool cpu() const { return cpu_; }
  /// Of right flags: what they ask for, as one would type it.
  [[nodiscard]] std::string as_typed(const Request& request) const;
  [[nodiscard]] bool dry_run() const { return dry_run_; }

 private:
  std::string devices_ = "1";
  std::string memory_, only_, except_, prefer_, min_compute_, need_, max_utilization_, idle_for_;
  std::string wait_, or_cpu_;
  bool no_wait_ = false;
  bool allow_failed_ = false;
  bool cpu_ = false;
  bool dry_run_ = false;
};

/// What an inherited CUDA_VISIBLE_DEVICES allows: nothing is ever widened. invalid: it cannot be
/// told what it means; says what to set.
[[nodiscard]] Result<PlaceLimits> inherited_limits(const Context& context,
                                                   const Snapshot& snapshot);

}  // namespace berth
