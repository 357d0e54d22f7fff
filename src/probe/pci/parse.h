#pragma once
// Readers of the kernel's texts about PCI functions, and of the pci.ids list. Pure; they read no
// file.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/device_kind.h"

namespace berth::pci {

/// "0x10de\n", at most 32 bits.
[[nodiscard]] std::optional<std::uint32_t> parse_id(std::string_view text);

/// Whose functions the bus has, by PCI vendor; nothing: it is not known, and may be anybody's.
using Makers = std::optional<std::vector<std::uint32_t>>;
/// `devices`: the text of /proc/bus/pci/devices. Nothing: it does not look like that file.
[[nodiscard]] Makers makers_in(std::string_view devices);
[[nodiscard]] bool may_have(const Makers& makers, std::uint32_t vendor);

/// PCIe generation of a link speed, "16.0 GT/s PCIe". Nothing: unknown, or no link.
[[nodiscard]] std::optional<std::uint64_t> generation_from_speed(std::string_view text);

/// "NVIDIA Corporation GA100 [A100 SXM4 80GB]" out of the pci.ids list; the maker alone where the
/// list lacks the device. Nothing: the list lacks both.
[[nodiscard]] std::optional<std::string> name_in_pci_ids(std::string_view pci_ids,
                                                         std::uint32_t vendor,
                                                         std::uint32_t device);

/// Whether somebody might want to compute on it or see through it: display (03xx) and processing
/// accelerator (1200).
[[nodiscard]] bool is_wanted_class(std::uint32_t pci_class);

struct Function {
  std::string address;  // normal_pci_address()
  std::uint32_t vendor = 0;
  std::uint32_t device = 0;
  std::uint32_t pci_class = 0;        // 24 bits: base class, subclass, interface
  std::optional<std::string> driver;  // bound to it
};

/// What sort of device it is, by the row of its maker's source. Adapters that only draw are
/// `other`: a server board's own, a virtual machine's. Nobody shall take them for a free GPU.
[[nodiscard]] DeviceKind kind_of(const Function& function);

/// Why no job can be given the device, for a function that no other source described; `answered`:
/// its maker's did.
[[nodiscard]] WhyUnusable unusable_because(const Function& function, bool answered);

}  // namespace berth::pci
