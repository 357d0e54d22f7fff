#include "snapshot/device_name.h"

#include <fmt/format.h>

#include "snapshot/device_kind.h"

namespace berth {

std::string name_for_people(const Device& device) {
  return device.index && !device.parent ? fmt::format("GPU {}", *device.index) : device.id.text();
}

std::string_view without_maker(std::string_view name) {
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
  return name.starts_with(of_players) ? name.substr(of_players.size()) : name;
}

}  // namespace berth
