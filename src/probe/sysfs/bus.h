#pragma once
// The PCI bus as /sys lists it, for sources that look for their maker's. The list of all that is
// installed is pci/pci_probe.h's.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth::sysfs {

/// Whether the bus has a function of this maker, of a class that `is_sought`; null: of any class.
[[nodiscard]] bool has_function_of(std::uint32_t vendor, bool (*is_sought)(std::uint32_t pci_class),
                                   const std::string& sys);

struct BoundCard {
  std::string folder;   // of /sys
  std::string driver;   // "amdgpu"
  std::string address;  // as Device::pci_address
};
/// Functions of a wanted class (pci/parse.h) that one of these drivers has, in the order of their
/// addresses. An empty name is no driver's.
[[nodiscard]] std::vector<BoundCard> cards_of_drivers(std::span<const std::string_view> drivers,
                                                      const std::string& sys);

}  // namespace berth::sysfs
