#pragma once
// IntelSource: what the i915 and xe drivers tell in /sys of Intel's GPUs. Who is on them is told by
// DRM of open device files. No library: Level Zero opens render nodes.
//
// Utilisation is 1 less the share of time that it slept (rc6, gtidle). That is graphics and compute
// together, and more than what ran. Memory used is the sum of what its processes hold, hence a
// lower bound. It is absent where not all processes may be seen: the driver itself tells it to
// CAP_PERFMON alone. On xe nearly every sensor wakes the card; of one that sleeps none is read.
//
// Sources: Documentation/ABI/testing/sysfs-driver-intel-{i915,xe}-hwmon, sysfs-driver-xe and
// i915's sysfs of Linux 6.16; trees of real cards.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "probe/device_source.h"
#include "probe/drm/clients.h"
#include "probe/drm/load.h"

namespace berth {

class IntelSource final : public DeviceSource {
 public:
  explicit IntelSource(
      std::string sys, std::string proc = "/proc",
      std::function<Instant()> now = [] { return SystemClock().now(); })
      : sys_(std::move(sys)), proc_(std::move(proc)), now_(std::move(now)) {}

  /// Problem codes: driver_not_loaded.
  [[nodiscard]] std::expected<int, Problem> open() override;
  [[nodiscard]] bool is_open() const override { return is_open_; }
  void observe_host(Host& host, const Wanted& wanted, std::vector<Problem>&) override;
  [[nodiscard]] Device identify_device(int index, const Wanted& wanted) override;
  [[nodiscard]] DeviceLook observe_device(int index, const Wanted& wanted, WallTime taken) override;
  [[nodiscard]] Device skipped_device(int index) const override;

 private:
  /// A number that grows, and when it was read.
  struct Counted {
    std::uint64_t number = 0;
    Instant at{};
  };
  struct Card {
    std::string folder;   // of the PCI function
    std::string drm;      // "…/drm/card1"
    std::string driver;   // "xe"
    std::string address;  // as Device::pci_address
    std::vector<std::string> files;
    std::optional<std::uint64_t> render_minor;
    std::vector<std::string> engines_idle;  // files that count milliseconds asleep
    std::string sensors;                    // empty: none
    std::map<std::string, Counted> counted;
    drm::Load load;
  };

  [[nodiscard]] std::vector<Card> cards_here() const;
  void find_sensors(Card& card) const;
  void read_sensors(Card& card, const Wanted& wanted, Device& device);
  [[nodiscard]] Reading<Bytes> memory_of(const Card& card) const;
  void read_clocks(const Card& card, Device& device) const;
  void read_link(const Card& card, Device& device) const;
  void read_processes(Card& card, const Wanted& wanted, DeviceLook& look);
  /// What it grew by in a second; nothing: not read before.
  [[nodiscard]] static Reading<double> rate_of(Card& card, const std::string& path,
                                               const Reading<std::uint64_t>& number, Instant now);

  std::string sys_;
  std::string proc_;
  std::function<Instant()> now_;
  bool is_open_ = false;
  std::vector<Card> cards_;
  std::optional<drm::OpenDeviceFiles> files_;  // of the look under way
};

[[nodiscard]] inline std::unique_ptr<DeviceSource> make_intel_source(const Sources& sources) {
  return std::make_unique<IntelSource>(sources.sys, sources.proc);
}

}  // namespace berth
