#include "probe/pci/parse.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "base/tr.h"
#include "probe/device_source.h"
#include "snapshot/device_fault.h"

namespace berth::pci {

namespace {

constexpr std::uint32_t display_class = 0x03;
constexpr std::uint32_t accelerator_class = 0x1200;

std::optional<std::uint32_t> hex_number(std::string_view digits) {
  const auto value = parse_hex(digits);
  if (!value || !std::in_range<std::uint32_t>(*value)) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
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
bool is_integrated(const Function& function, DeviceKind kind) {
  return kind == DeviceKind::intel_gpu && function.address.find(":00:02.") != std::string::npos;
}

/// The source of its maker's devices; null: there is none.
const SourceFacts* source_for(const Function& function) {
  const auto sources = all_sources();
  const auto found = std::ranges::find_if(
      sources, [&](const SourceFacts& one) { return parse_id(one.pci_vendor) == function.vendor; });
  if (found == sources.end()) return nullptr;
  const bool is_accelerator = (function.pci_class >> 8) == accelerator_class;
  const bool is_boards_own =
      (found->are_accelerators && !is_accelerator) || is_integrated(function, found->kind);
  return is_boards_own ? nullptr : &*found;
}

}  // namespace

std::optional<std::uint32_t> parse_id(std::string_view text) {
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
  return (pci_class >> 16) == display_class || (pci_class >> 8) == accelerator_class;
}

DeviceKind kind_of(const Function& function) {
  const SourceFacts* source = source_for(function);
  return source == nullptr ? DeviceKind::other : source->kind;
}

WhyUnusable unusable_because(const Function& function, bool answered) {
  if (function.driver == "vfio-pci") return Unusable::given_to_machine;
  const SourceFacts* source = source_for(function);
  if (source == nullptr) {
    return WhyUnusable(function.pci_class >> 16 == display_class
                           ? as_key("a display adapter, nothing to compute on")
                           : as_key("readings not supported yet"));
  }
  if (!function.driver) return Unusable::no_driver;
  if (*function.driver == "nouveau") return Unusable::nouveau;
  const auto& drivers = source->kernel_drivers;
  const bool is_its =
      drivers.front().empty() || std::ranges::find(drivers, *function.driver) != drivers.end();
  if (!is_its) return WhyUnusable(as_key("another kernel driver has it"));
  const bool is_silent = source->kind == DeviceKind::nvidia_gpu && !answered;
  return is_silent ? WhyUnusable(Unusable::library_silent) : WhyUnusable(source->unlisted);
}

}  // namespace berth::pci
