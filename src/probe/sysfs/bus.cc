#include "probe/sysfs/bus.h"

#include <algorithm>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "probe/pci/parse.h"
#include "probe/sysfs/files.h"

namespace berth::sysfs {

bool has_function_of(std::uint32_t vendor, bool (*is_sought)(std::uint32_t pci_class),
                     const std::string& sys) {
  const std::string folder = sys + "/bus/pci/devices";
  return std::ranges::any_of(entries_in(folder), [&](const std::string& entry) {
    const std::string function = folder + "/" + entry;
    return hex_of(function + "/vendor") == vendor &&
           (is_sought == nullptr || is_sought(hex_of(function + "/class").value_or(0)));
  });
}

std::vector<BoundCard> cards_of_drivers(std::span<const std::string_view> drivers,
                                        const std::string& sys) {
  std::vector<BoundCard> cards;
  for (const std::string_view driver : drivers) {
    if (driver.empty()) continue;
    for (const std::string& entry : entries_in(sys + "/bus/pci/drivers/" + std::string(driver))) {
      auto address = normal_pci_address(entry);
      if (!address) continue;
      BoundCard card{.folder = sys + "/bus/pci/devices/" + entry,
                     .driver = std::string(driver),
                     .address = std::move(*address)};
      const auto pci_class = hex_of(card.folder + "/class");
      if (pci_class && pci::is_wanted_class(*pci_class)) cards.push_back(std::move(card));
    }
  }
  std::ranges::sort(cards, {}, &BoundCard::address);
  return cards;
}

}  // namespace berth::sysfs
