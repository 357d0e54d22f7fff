#pragma once
// DcmiSource: Huawei's Ascend chips, as libdcmi.so of their driver tells of them. /sys has nothing
// but the PCI functions; npu-smi is not needed. A card may have two chips, each a device.
//
// A program takes the logic id (Device::runtime_index); the device file has the physical one
// (Device::minor_number).

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "probe/dcmi/abi.h"
#include "probe/device_source.h"

namespace berth {

class DcmiSource final : public DeviceSource {
 public:
  /// `root`: before the places where the driver is installed.
  explicit DcmiSource(std::string root, std::string sys = "/sys")
      : root_(std::move(root)), sys_(std::move(sys)) {}
  /// Asks these functions.
  DcmiSource(std::string root, const dcmi::Api& api, std::string sys = "/sys")
      : root_(std::move(root)), sys_(std::move(sys)), api_(api) {}

  /// Whether the bus has such a chip.
  [[nodiscard]] static bool sees_any(const Sources& sources, const pci::Makers& makers);

  /// Problem codes: library_not_found, library_not_loadable, init_failed, no_devices.
  [[nodiscard]] std::expected<int, Problem> open() override;
  [[nodiscard]] bool is_open() const override { return !chips_.empty(); }
  void observe_host(Host& host, const Wanted& wanted, std::vector<Problem>&) override;
  [[nodiscard]] Device identify_device(int index, const Wanted& wanted) override;
  [[nodiscard]] DeviceLook observe_device(int index, const Wanted& wanted, WallTime taken) override;
  [[nodiscard]] Device skipped_device(int index) const override;

 private:
  struct Chip {
    int card = 0;
    int number = 0;  // of its card
    Device facts;
    bool is_told = false;
    bool was_on_bus = false;
  };
  [[nodiscard]] std::optional<Problem> load();
  /// Nothing: the library could not list all.
  [[nodiscard]] std::optional<std::vector<Chip>> list_chips() const;
  void read_facts(Chip& chip) const;
  /// As the chip says, and whether the driver says that there is none any more.
  [[nodiscard]] std::pair<std::optional<unsigned>, bool> health_of(const Chip& chip) const;
  void read_memory(const Chip& chip, Device& device) const;
  void read_errors(const Chip& chip, Device& device) const;
  void read_processes(const Chip& chip, DeviceLook& look) const;

  [[nodiscard]] bool is_on_bus(const Chip& chip) const;

  std::string root_;
  std::string sys_;
  std::optional<dcmi::Api> api_;
  std::vector<Chip> chips_;
  bool is_started_ = false;
};

[[nodiscard]] inline std::unique_ptr<DeviceSource> make_dcmi_source(const Sources& sources) {
  return std::make_unique<DcmiSource>(sources.root, sources.sys);
}

}  // namespace berth
