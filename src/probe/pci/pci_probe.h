#pragma once
// PciProbe: every display, 3D and accelerator function of the PCI bus, with or without a driver. It
// tells what `lspci -k` would show, and why an installed card cannot be used.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "probe/pci/parse.h"
#include "snapshot/snapshot.h"

namespace berth {

struct PciSource {
  std::string sys = "/sys";
  std::string pci_ids;  // empty: looked for where distributions put it
  std::string proc = "/proc";
  std::string dev = "/dev";
};

class PciProbe {
 public:
  explicit PciProbe(PciSource source) : source_(std::move(source)) {}

  /// Completes what other sources left absent of their devices: driver, PCI id, NUMA node, link.
  /// Adds the devices that none described. Call it after the other sources; a second call adds
  /// nothing.
  void observe(Snapshot& snapshot);
  /// Adds where each device is plugged in: its path through the bridges, the processors near it.
  void place(Snapshot& snapshot) const;

 private:
  [[nodiscard]] std::string path_of(const std::string& entry, std::string_view file) const;
  void complete(Device& device, const pci::Function& function, const std::string& entry);
  [[nodiscard]] std::optional<std::string> name_of(const pci::Function& function);
  [[nodiscard]] Device device_from(const pci::Function& function, const std::string& entry,
                                   const Snapshot& snapshot);
  [[nodiscard]] WhyUnusable why_unusable(const pci::Function& function, const std::string& entry,
                                         const Snapshot& snapshot);
  [[nodiscard]] bool is_another_containers(const std::string& address) const;
  [[nodiscard]] bool is_closed_to_us(const std::string& address);
  [[nodiscard]] const std::string& pci_ids();

  PciSource source_;
  std::map<std::string, std::uint32_t> classes_;  // by folder, as long as it is there
  std::map<std::string, bool> closed_;            // by PCI address
  std::optional<std::string> pci_ids_;            // read when the first name is needed: 1.3 MB
};

}  // namespace berth
