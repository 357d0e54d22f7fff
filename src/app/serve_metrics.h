#pragma once
// The server's /metrics: what a page needs beyond the newest snapshot is kept here from look to
// look.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "serve/metrics.h"
#include "serve/metrics_hook.h"

namespace berth {

class ServeMetrics final : public serve::MetricsSource {
 public:
  /// `clock` outlives it.
  ServeMetrics(Clock& clock, std::vector<serve::MetricsProfile> profiles)
      : clock_(clock), profiles_(std::move(profiles)), started_(clock.wall_now()) {}

  /// A further look, which took so long. `failed`: it asked and got nothing from any driver.
  void seen(const Snapshot& snapshot, Duration took, bool failed);
  void set_interval(Duration interval) { interval_ = interval; }
  void set_history(std::optional<serve::HistoryFigures> history, std::uint64_t dropped);

  [[nodiscard]] std::optional<serve::MetricsText> page(
      const Snapshot& seen, const serve::MetricsQuestion& question) const override;

 private:
  Clock& clock_;
  std::vector<serve::MetricsProfile> profiles_;
  WallTime started_;
  serve::WindowKeeper window_;
  serve::XidTally xids_;
  serve::DaemonFigures daemon_;
  std::optional<serve::HistoryFigures> history_;
  Duration interval_ = std::chrono::seconds(1);
  Duration look_took_{};
  Instant looked_{};
  mutable std::uint64_t requests_ = 0;
};

}  // namespace berth
