#pragma once
// What `berth smi` and `berth gpustat` share: where looks come from, and going on until Ctrl-C.

#include <functional>
#include <optional>

#include "app/context.h"
#include "app/live.h"
#include "smi/smi.h"

namespace berth {

/// The machine, or what is simulated or replayed, as nvidia-smi's surfaces want it.
class ContextSource final : public smi::Source {
 public:
  /// `repeats`: one probe is kept for all looks. The driver's library is started once, and a hang
  /// costs one look. Values "since the look before" can be told.
  ContextSource(Context& context, bool repeats) : context_(context), repeats_(repeats) {}
  Snapshot look(const Wanted& wanted) override;

 private:
  [[nodiscard]] Result<Snapshot> looked(Wanted wanted);

  Context& context_;
  bool repeats_;
  std::optional<Live> live_;
  std::optional<Snapshot> before_;
  bool said_simulated_ = false;
};

[[nodiscard]] smi::Clockface clockface_of(Context& context);

/// Calls `once` (with 0, 1, 2, …), again every `every`. It stops if `once` returns false, at
/// Ctrl-C, or after `times` calls. 0, or 128 plus the signal's number.
int again_and_again(Context& context, std::chrono::milliseconds every,
                    std::optional<std::uint64_t> times,
                    const std::function<bool(std::uint64_t)>& once);

}  // namespace berth
