#pragma once
// The PCI bus as /sys lists it, for sources that look for their maker's. The list of all that is
// installed is pci/pci_probe.h's.

#include <cstdint>
#include <string>

namespace berth::sysfs {

/// Whether the bus has a function of this maker, of a class that `is_sought`; null: of any class.
[[nodiscard]] bool has_function_of(std::uint32_t vendor, bool (*is_sought)(std::uint32_t pci_class),
                                   const std::string& sys);

}  // namespace berth::sysfs
