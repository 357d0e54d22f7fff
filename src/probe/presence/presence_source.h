#pragma once
// PresenceSource: accelerators of which berth reads two things alone: the bus has them, and who has
// their device files open. A new one is a row in presence_source.cc and one in
// snapshot/device_kind_rows.h.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probe/device_source.h"
#include "probe/drm/clients.h"

namespace berth {

/// How a kind is found.
struct PresenceRow {
  DeviceKind kind;
  std::uint32_t pci_vendor = 0;
  std::span<const std::uint32_t> pci_devices = {};  // empty: all of the maker's accelerators
  std::string_view class_folder = {};  // "/sys/class/accel": has a folder with a "device" for each
  std::string_view file;               // "/dev/accel/accel": its number follows
  /// Whether files are numbered in another order than the bus's, and nothing in /sys tells it.
  bool is_shuffled = false;
  /// Below the function in /sys: the number that the visible-devices variable takes.
  std::string_view number_file = {};
  /// Whether another source reads the device in this folder of /sys, on a machine below `root`.
  bool (*is_read_elsewhere)(const std::string& folder, const std::string& root) = nullptr;
};
[[nodiscard]] std::span<const PresenceRow> presence_rows();

class PresenceSource final : public DeviceSource {
 public:
  PresenceSource(std::string sys, std::string proc, std::string dev = "/dev", std::string root = "")
      : sys_(std::move(sys)),
        proc_(std::move(proc)),
        dev_(std::move(dev)),
        root_(std::move(root)) {}

  /// Whether the bus has any. Reads /sys alone, and nothing where these are all its makers.
  [[nodiscard]] static bool sees_any(const std::string& sys, const pci::Makers& makers = {},
                                     const std::string& root = "");

  /// Problem codes: device_gone.
  [[nodiscard]] std::expected<int, Problem> open() override;
  [[nodiscard]] bool is_open() const override { return !found_.empty(); }
  void observe_host(Host&, const Wanted&, std::vector<Problem>&) override {}
  [[nodiscard]] Device identify_device(int index, const Wanted& wanted) override;
  [[nodiscard]] DeviceLook observe_device(int index, const Wanted& wanted, WallTime taken) override;
  [[nodiscard]] Device skipped_device(int index) const override;

 private:
  struct Found {
    const PresenceRow* row = nullptr;
    std::string folder;   // below /sys
    std::string address;  // as Device::pci_address
    int number = 0;       // among its kind, by address
    std::vector<std::string> files;
    std::optional<std::uint64_t> minor;
  };

  void find_files(std::vector<Found>& found) const;
  /// Nothing: which of several files is its own cannot be told.
  [[nodiscard]] std::optional<std::vector<pid_t>> holders_of(const Found& one) const;

  std::string sys_;
  std::string proc_;
  std::string dev_;
  std::string root_;
  std::vector<Found> found_;
  std::optional<drm::OpenDeviceFiles> files_;  // of the look under way
};

[[nodiscard]] inline std::unique_ptr<DeviceSource> make_presence_source(const Sources& sources) {
  return std::make_unique<PresenceSource>(sources.sys, sources.proc, "/dev", sources.root);
}

}  // namespace berth
