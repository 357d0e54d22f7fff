#pragma once
// AmdgpuSource: what the amdgpu driver tells in /sys of its GPUs. Who is on them is told by the
// KFD, and by DRM of open device files. No library is used: AMD's open /dev/kfd, and the opener is
// listed as computing.
//
// Nearly every reading wakes a card that sleeps. `power/runtime_status` never does, so it comes
// first. Of a sleeping card only what the kernel remembers is read.
//
// A divided card stands with its partitions behind it. What is of the whole socket (power, heat,
// clocks, links) is the card's alone.
//
// Sources: Documentation/gpu/amdgpu and drivers/gpu/drm/amd/amdkfd of Linux 6.15; trees of real
// cards (tests/data/amdgpu).

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "probe/amdgpu/cards.h"
#include "probe/amdgpu/gpu_metrics.h"
#include "probe/device_source.h"
#include "probe/drm/clients.h"
#include "probe/drm/load.h"

namespace berth {

class AmdgpuSource final : public DeviceSource {
 public:
  /// `now`: for how busy a process has been since the look before.
  explicit AmdgpuSource(
      std::string sys, std::string proc = "/proc",
      std::function<Instant()> now = [] { return SystemClock().now(); },
      const amdgpu::Driver& driver = amdgpu::amds)
      : sys_(std::move(sys)), proc_(std::move(proc)), now_(std::move(now)), driver_(driver) {}

  /// Problem codes: driver_not_loaded.
  [[nodiscard]] std::expected<int, Problem> open() override;
  [[nodiscard]] bool is_open() const override { return is_open_; }
  void observe_host(Host& host, const Wanted& wanted, std::vector<Problem>&) override;
  [[nodiscard]] Device identify_device(int index, const Wanted& wanted) override;
  [[nodiscard]] DeviceLook observe_device(int index, const Wanted& wanted, WallTime taken) override;
  [[nodiscard]] Device skipped_device(int index) const override;

 private:
  struct Known {
    amdgpu::Card card;
    Device facts;
    bool is_told = false;         // the facts have been read, whose they are included
    Reading<std::string> number;  // of the card that they are of
    std::optional<amdgpu::Residencies> residencies;
    drm::Load load;
  };

  [[nodiscard]] Known& known(int index) { return known_[static_cast<std::size_t>(index)]; }
  void find_cards();
  void read_facts(Known& known);
  [[nodiscard]] Device partition_of(const Known& known, const amdgpu::Node& node) const;
  void read_processes(Known& known, const Wanted& wanted, DeviceLook& look);

  std::string sys_;
  std::string proc_;
  std::function<Instant()> now_;
  amdgpu::Driver driver_;
  bool is_open_ = false;
  std::vector<Known> known_;
  std::string topology_;
  std::optional<drm::OpenDeviceFiles> files_;  // of the look under way
};

[[nodiscard]] inline std::unique_ptr<DeviceSource> make_amdgpu_source(const Sources& sources) {
  return std::make_unique<AmdgpuSource>(sources.sys, sources.proc);
}
/// Hygon's DCUs, whose driver was made of amdgpu.
[[nodiscard]] inline std::unique_ptr<DeviceSource> make_hygon_source(const Sources& sources) {
  return std::make_unique<AmdgpuSource>(
      sources.sys, sources.proc, [] { return SystemClock().now(); }, amdgpu::hygons);
}
[[nodiscard]] inline bool sees_hygon_files(const Sources& sources, const pci::Makers&) {
  return !amdgpu::cards_of_bus(sources.sys, amdgpu::hygons).empty();
}

}  // namespace berth
