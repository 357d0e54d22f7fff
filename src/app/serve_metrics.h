#pragma once
// The server's /metrics: what a page needs beyond the newest snapshot is kept here from look to
// look.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "serve/fleet.h"
#include "serve/metrics.h"
#include "serve/metrics_hook.h"

namespace berth {

class ServeMetrics final : public serve::MetricsSource {
 public:
  /// `clock` outlives it.
  explicit ServeMetrics(Clock& clock) : clock_(clock), started_(clock.wall_now()) {}

  /// What the configuration says, anew; the profiles are for who asks for none.
  void configure(serve::MetricsOptions options, Duration interval) {
    options_ = std::move(options);
    interval_ = interval;
    kept_.clear();
  }

  /// A further look, which took so long. `failed`: it asked the driver and got nothing.
  void seen(const Snapshot& snapshot, Duration took, bool failed);
  /// The process that asks the driver: its cost is ours.
  void set_probe(std::optional<pid_t> pid) { probe_ = pid; }
  /// Those that go on.
  void set_alerts(std::vector<Alert> alerts) { alerts_ = std::move(alerts); }
  void set_requests(std::uint64_t requests) { daemon_.requests = requests; }
  /// `lost`: samples that were never written.
  void set_history(std::optional<serve::HistoryFigures> history, std::uint64_t lost);
  void set_fleet(std::shared_ptr<const serve::FleetView> fleet) { fleet_ = std::move(fleet); }

  [[nodiscard]] std::optional<serve::MetricsText> page(
      const std::shared_ptr<const Snapshot>& seen, const serve::MetricsQuestion& question) override;

 private:
  /// What many ask for until the next look.
  struct KeptPage {
    std::shared_ptr<const Snapshot> seen;  // null: of an earlier look, kept for its memory alone
    std::vector<serve::MetricsProfile> profiles;
    serve::MetricsFormat format{};
    std::shared_ptr<std::string> text;  // as last sent
    std::size_t of_look = 0;            // its bytes that are of the look
  };
  static constexpr std::size_t most_kept = 8;
  void tell_cost(serve::DaemonFigures& daemon);
  [[nodiscard]] KeptPage& page_of_look(const std::shared_ptr<const Snapshot>& seen,
                                       const serve::Scrape& scrape,
                                       const serve::MetricsOptions& options,
                                       serve::MetricsFormat format);

  Clock& clock_;
  serve::MetricsOptions options_;
  WallTime started_;
  serve::WindowKeeper window_;
  serve::XidTally xids_;
  serve::DaemonFigures daemon_;
  std::optional<serve::HistoryFigures> history_;
  std::shared_ptr<const serve::FleetView> fleet_;  // null: nobody is joined
  std::optional<std::vector<Alert>> alerts_;
  std::optional<pid_t> probe_;
  Duration most_cpu_{};  // as last told
  Duration interval_ = std::chrono::seconds(1);
  Duration look_took_{};
  Instant looked_{};
  std::vector<KeptPage> kept_;
};

}  // namespace berth
