#include "snapshot/device_name.h"

#include <fmt/format.h>

#include "snapshot/device_kind.h"

namespace berth {

std::string name_for_people(const Device& device) {
  return device.index && !device.parent ? fmt::format("GPU {}", *device.index) : device.id.text();
}

std::string index_or_id(const Device& device) {
  return device.index ? std::to_string(*device.index) : device.id.text();
}

std::string_view without_maker(std::string_view name) {
  // As the list of PCI devices calls them, where a driver tells no name.
  for (const DeviceKindFacts& facts : device_kinds()) {
    const std::string_view maker = facts.name_in_pci_ids;
    const bool is_it = !maker.empty() && name.starts_with(maker);
    if (is_it && name.size() > maker.size() + 1) return name.substr(maker.size() + 1);
  }
  for (std::size_t i = 0; i < runtime_count; ++i) {
    const std::string_view maker = facts_of(static_cast<Runtime>(i)).vendor;
    const bool is_it = !maker.empty() && name.starts_with(maker);
    if (is_it && name.substr(maker.size()).starts_with(' ')) return name.substr(maker.size() + 1);
  }
  return name;
}

std::string_view model_of(std::string_view name) {
  constexpr std::string_view of_players = "GeForce ";
  name = without_maker(name);
  // "Navi 23 [Radeon RX 6650 XT]": the chip, and how it is sold.
  const std::size_t open = name.rfind('[');
  if (open != name.npos && name.ends_with(']') && open + 2 < name.size()) {
    return name.substr(open + 1, name.size() - open - 2);
  }
  return name.starts_with(of_players) ? name.substr(of_players.size()) : name;
}

}  // namespace berth
