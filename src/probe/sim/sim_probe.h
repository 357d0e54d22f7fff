#pragma once
// SimProbe: a simulated server in place of every other source.

#include <vector>

#include "probe/sim/scenario.h"
#include "snapshot/probe.h"

namespace berth {

class SimProbe final : public Probe {
 public:
  /// `claims`: their jobs are shown as running on the devices that they hold.
  explicit SimProbe(sim::Scenario scenario, std::vector<Claim> claims = {});

  [[nodiscard]] std::string_view name() const override { return "sim"; }
  /// Replaces what is in the snapshot; Snapshot::taken says which instant is wanted.
  void observe(Snapshot& snapshot) override;
  void set_claims(std::vector<Claim> claims) { claims_ = std::move(claims); }

 private:
  sim::Scenario scenario_;
  std::vector<Claim> claims_;
};

}  // namespace berth
