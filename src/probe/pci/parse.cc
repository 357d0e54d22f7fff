#include "probe/pci/parse.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/text.h"
#include "base/tr.h"
#include "snapshot/device_fault.h"

namespace berth::pci {

namespace {

constexpr std::uint32_t nvidia = 0x10de;
constexpr std::uint32_t amd = 0x1002;
constexpr std::uint32_t intel = 0x8086;
constexpr std::uint32_t huawei = 0x19e5;

constexpr std::uint32_t accelerator_class = 0x1200;

std::optional<std::uint32_t> hex_number(std::string_view digits) {
  std::uint32_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, 16);
  if (digits.empty() || error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::string hex4(std::uint32_t number) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (int shift = 12; shift >= 0; shift -= 4) text += digits[(number >> shift) & 0xf];
  return text;
}

std::string_view line_at(std::string_view text, std::size_t at) {
  return text.substr(at, text.find('\n', at) - at);
}

/// Graphics inside an Intel processor or its chipset always sit at 00:02.x.
bool is_intel_integrated(const Function& function) {
  return function.vendor == intel && function.address.find(":00:02.") != std::string::npos;
}

}  // namespace

std::optional<std::uint32_t> parse_hex(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with("0x")) text.remove_prefix(2);
  return hex_number(text);
}

Makers makers_in(std::string_view devices) {
  // "0100\t10de2330\t…": bus and function, vendor and device, then its regions.
  constexpr std::size_t digits = 4;
  std::vector<std::uint32_t> makers;
  for (const std::string_view line : split(devices, '\n')) {
    if (line.empty()) continue;
    const std::size_t tab = line.find('\t');
    if (tab == line.npos) return std::nullopt;
    const auto vendor = hex_number(line.substr(tab + 1, digits));
    if (!vendor) return std::nullopt;
    if (std::ranges::find(makers, *vendor) == makers.end()) makers.push_back(*vendor);
  }
  // A machine without a bus has no such file.
  return makers.empty() ? std::nullopt : Makers(std::move(makers));
}

bool may_have(const Makers& makers, std::uint32_t vendor) {
  return !makers || std::ranges::find(*makers, vendor) != makers->end();
}

std::optional<std::uint64_t> generation_from_speed(std::string_view text) {
  // PCI Express Base Specification: each generation's transfers per second on one lane.
  constexpr std::array<std::string_view, 6> speeds = {"2.5", "5.0", "8.0", "16.0", "32.0", "64.0"};
  const std::string_view number = text.substr(0, text.find(' '));
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    // Kernels before 4.13 write "5 GT/s" where later ones write "5.0 GT/s PCIe".
    const std::string_view whole = speeds[i].substr(0, speeds[i].find('.'));
    if (number == speeds[i] || (number == whole && i != 0)) return i + 1;
  }
  return std::nullopt;
}

std::optional<std::string> name_in_pci_ids(std::string_view pci_ids, std::uint32_t vendor,
                                           std::uint32_t device) {
  const std::string vendor_key = "\n" + hex4(vendor) + "  ";
  std::size_t at = pci_ids.find(vendor_key);
  if (at == std::string_view::npos) return std::nullopt;
  std::string name(line_at(pci_ids, at + vendor_key.size()));
  const std::string device_key = "\t" + hex4(device) + "  ";
  // Lines of the vendor: "\tDEVICE  name", "\t\tSUBVENDOR SUBDEVICE  name", comments.
  for (at = pci_ids.find('\n', at + 1); at != std::string_view::npos && at + 1 < pci_ids.size();
       at = pci_ids.find('\n', at + 1)) {
    const std::string_view line = line_at(pci_ids, at + 1);
    if (line.starts_with(device_key)) {
      return name + " " + std::string(line.substr(device_key.size()));
    }
    if (!line.empty() && line[0] != '\t' && line[0] != '#') break;
  }
  return name;
}

bool is_wanted_class(std::uint32_t pci_class) {
  return (pci_class >> 16) == 0x03 || (pci_class >> 8) == accelerator_class;
}

DeviceKind kind_of(const Function& function) {
  const bool accelerator = (function.pci_class >> 8) == accelerator_class;
  switch (function.vendor) {
    case nvidia:
      return DeviceKind::nvidia_gpu;
    case amd:
      return DeviceKind::amd_gpu;
    case intel:
      return is_intel_integrated(function) ? DeviceKind::other : DeviceKind::intel_gpu;
    case huawei:  // its VGA function (1711) is the server board's management controller
      return accelerator ? DeviceKind::ascend_npu : DeviceKind::other;
    default:
      return DeviceKind::other;
  }
}

WhyUnusable unusable_because(const Function& function, bool nvml_answered) {
  if (function.driver == "vfio-pci") return Unusable::given_to_machine;
  const DeviceKind kind = kind_of(function);
  if (kind == DeviceKind::nvidia_gpu) {
    if (!function.driver) return Unusable::no_driver;
    if (*function.driver == "nouveau") return Unusable::nouveau;
    if (*function.driver != "nvidia") return WhyUnusable(as_key("another kernel driver has it"));
    if (!nvml_answered) return Unusable::library_silent;
    return WhyUnusable(as_key("the nvidia driver has it, but NVIDIA's library does not list it"));
  }
  if (kind == DeviceKind::ascend_npu) {
    if (!function.driver) return Unusable::no_driver;
    return WhyUnusable(as_key("Huawei's library does not list it"));
  }
  if (kind == DeviceKind::amd_gpu || kind == DeviceKind::intel_gpu) {
    if (!function.driver) return Unusable::no_driver;
    constexpr std::array<std::string_view, 3> asked = {"amdgpu", "xe", "i915"};
    if (std::ranges::find(asked, *function.driver) == asked.end()) {
      return WhyUnusable(as_key("another kernel driver has it"));
    }
    return WhyUnusable(as_key("its driver does not list it"));
  }
  if (kind == DeviceKind::other && (function.pci_class >> 16) == 0x03) {
    return WhyUnusable(as_key("a display adapter, nothing to compute on"));
  }
  return WhyUnusable(as_key("readings not supported yet"));
}

}  // namespace berth::pci
