#pragma once
// MetricsKeeper: what a page of /metrics needs beyond the newest snapshot, from look to look.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "serve/api.h"
#include "serve/fleet.h"
#include "serve/metrics.h"

namespace berth::serve {

class MetricsKeeper final : public MetricsSource {
 public:
  /// `clock` outlives it.
  explicit MetricsKeeper(Clock& clock) : clock_(clock), started_(clock.wall_now()) {}

  /// Takes the configuration anew. Its profiles are for a scraper that asks for none.
  void configure(MetricsOptions options, Duration interval) {
    options_ = std::move(options);
    interval_ = interval;
    kept_.clear();
  }

  /// A further look, which took so long. `failed`: it asked the driver and got nothing.
  void seen(const Snapshot& snapshot, Duration took, bool failed);
  /// The process that asks the driver: its cost is ours.
  void set_probe(std::optional<pid_t> pid) { probe_ = pid; }
  /// Sets the alerts that go on.
  void set_alerts(std::vector<Alert> alerts) { alerts_ = std::move(alerts); }
  void set_requests(std::uint64_t requests) { daemon_.requests = requests; }
  /// `lost`: samples that were never written.
  void set_history(std::optional<HistoryFigures> history, std::uint64_t lost);
  void set_fleet(std::shared_ptr<const FleetView> fleet) { fleet_ = std::move(fleet); }

  [[nodiscard]] std::optional<MetricsText> page(const std::shared_ptr<const Snapshot>& seen,
                                                const MetricsQuestion& question) override;

 private:
  /// A page that many ask for until the next look.
  struct KeptPage {
    std::shared_ptr<const Snapshot> seen;  // null: of an earlier look, kept for its memory alone
    std::vector<MetricsProfile> profiles;
    MetricsFormat format{};
    std::shared_ptr<std::string> text;  // as last sent
    std::size_t of_look = 0;            // its bytes that are of the look
  };
  static constexpr std::size_t most_kept = 8;
  void tell_cost(DaemonFigures& daemon);
  [[nodiscard]] KeptPage& page_of_look(const std::shared_ptr<const Snapshot>& seen,
                                       const Scrape& scrape, const MetricsOptions& options,
                                       MetricsFormat format);

  Clock& clock_;
  MetricsOptions options_;
  WallTime started_;
  WindowKeeper window_;
  XidTally xids_;
  DaemonFigures daemon_;
  std::optional<HistoryFigures> history_;
  std::shared_ptr<const FleetView> fleet_;  // null: nobody is joined
  std::optional<std::vector<Alert>> alerts_;
  std::optional<pid_t> probe_;
  Duration most_cpu_{};  // as last told
  Duration interval_ = std::chrono::seconds(1);
  Duration look_took_{};
  Instant looked_{};
  std::vector<KeptPage> kept_;
};

}  // namespace berth::serve
