#pragma once
// AmdgpuSource: what the amdgpu driver tells in /sys of its GPUs, and the KFD of the processes that
// compute on them. No library: AMD's open /dev/kfd, and who opens it is listed as computing.
//
// Nearly every reading wakes a card that sleeps. So `power/runtime_status`, which never does, comes
// first; of a card that sleeps only what the kernel remembers is read.
//
// Sources: Documentation/gpu/amdgpu and drivers/gpu/drm/amd/amdkfd of Linux 6.15; trees of real
// cards (tests/data/amdgpu).

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "probe/device_source.h"

namespace berth {

class AmdgpuSource final : public DeviceSource {
 public:
  explicit AmdgpuSource(std::string sys) : sys_(std::move(sys)) {}

  /// Problem codes: driver_not_loaded.
  [[nodiscard]] std::expected<int, Problem> open() override;
  [[nodiscard]] bool is_open() const override { return is_open_; }
  void observe_host(Host& host, const Wanted& wanted, std::vector<Problem>&) override;
  [[nodiscard]] Device identify_device(int index, const Wanted& wanted) override;
  [[nodiscard]] DeviceLook observe_device(int index, const Wanted& wanted, WallTime taken) override;
  [[nodiscard]] Device skipped_device(int index) const override;

 private:
  /// A GPU as the KFD numbers it, which is the order of ROCm's programs.
  struct Node {
    int runtime_index = 0;
    std::string gpu_id;  // in the names of its processes' files
  };
  struct Card {
    std::string folder;   // below /sys
    std::string address;  // as Device::pci_address
    std::optional<Node> node;
    Device facts;
  };

  [[nodiscard]] std::vector<Card> cards_here() const;
  void find_nodes(std::vector<Card>& cards) const;
  void read_processes(const Card& card, DeviceLook& look) const;

  std::string sys_;
  bool is_open_ = false;
  std::vector<Card> cards_;
};

[[nodiscard]] inline std::unique_ptr<DeviceSource> make_amdgpu_source(const Sources& sources) {
  return std::make_unique<AmdgpuSource>(sources.sys);
}

}  // namespace berth
