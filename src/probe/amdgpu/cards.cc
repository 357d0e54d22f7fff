#include "probe/amdgpu/cards.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "probe/amdgpu/parse.h"
#include "probe/sysfs/bus.h"
#include "probe/sysfs/files.h"

namespace berth::amdgpu {

namespace {

constexpr std::size_t longest_of_topology = 4096;
constexpr std::uint64_t xgmi = 11;  // CRAT_IOLINK_TYPE_XGMI

std::string short_line(const std::string& path) {
  const auto text = read_proc_file(path, longest_of_topology);
  return text ? std::string(trimmed(*text)) : std::string();
}

Properties properties_of(const std::string& path) {
  const auto text = read_proc_file(path, longest_of_topology);
  return text ? parse_properties(*text) : Properties{};
}

void find_device_files(Card& card) {
  for (const std::string& name : entries_in(card.folder + "/drm")) {
    if (const auto render = number_behind(name, "renderD")) card.render_minor = render;
    if (number_behind(name, "card")) card.card_file = "/dev/dri/" + name;
  }
}

/// The driver writes nothing where it knows none; Hygon's a name that is no number.
Reading<std::string> unique_number(const Card& card, const Driver& driver) {
  const Reading<std::string> told = sysfs::line_of(card.folder + "/unique_id");
  if (!told.get()) return told.why();
  if (told.get()->find_first_not_of("0123456789abcdefABCDEFx") != std::string::npos) {
    return driver.is_fork ? Absent::unsupported : Absent::failed;
  }
  const bool is_one = told.get()->find_first_not_of("0x") != std::string::npos;
  return is_one ? told : Reading<std::string>(Absent::unsupported);
}

/// Frame buffer memory: heap types 1 (public) and 2 (private).
Bytes bank_memory(const std::string& node) {
  constexpr std::uint64_t most = std::uint64_t{1} << 50U;
  Bytes sum;
  for (const std::string& bank : entries_in(node + "/mem_banks")) {
    std::string path = node;
    path += "/mem_banks/" + bank + "/properties";
    const Properties properties = properties_of(path);
    const std::uint64_t heap = value_of(properties, "heap_type");
    const std::uint64_t size = value_of(properties, "size_in_bytes");
    if ((heap == 1 || heap == 2) && size <= most) sum += Bytes{size};
  }
  return sum;
}

struct Numbered {
  std::uint64_t number = 0;
  std::string folder;
  Properties properties;
};

/// xGMI only. The other end stands as an address once all nodes are known.
std::vector<NvLink> links_of(const Numbered& node, const std::map<std::uint64_t, NodePlace>& at) {
  std::vector<NvLink> links;
  constexpr std::uint64_t megabytes = 1'000'000;
  for (const std::string& name : entries_in(node.folder + "/io_links")) {
    std::string path = node.folder;
    path += "/io_links/" + name + "/properties";
    const Properties link = properties_of(path);
    if (value_of(link, "type") != xgmi) continue;
    const auto peer = at.find(value_of(link, "node_to"));
    if (peer == at.end()) continue;
    NvLink told;
    told.number = static_cast<std::uint32_t>(links.size());
    told.active = true;
    const std::uint64_t speed = value_of(link, "max_bandwidth");
    told.speed = speed > 0 && speed < megabytes
                     ? Reading<BytesPerSecond>(BytesPerSecond{speed * megabytes})
                     : Absent::unsupported;
    told.remote = peer->second.card;
    links.push_back(std::move(told));
  }
  return links;
}

Node node_of(const Numbered& numbered) {
  const Properties& told = numbered.properties;
  const std::uint64_t minor = value_of(told, "drm_render_minor");
  return {
      .gpu_id = short_line(numbered.folder + "/gpu_id"),
      .partition = place_of(told).function,
      .render_minor = minor > 0 ? std::optional(minor) : std::nullopt,
      .chip = chip_name(value_of(told, "gfx_target_version")),
      .memory = bank_memory(numbered.folder),
      .has_processor = value_of(told, "cpu_cores_count") > 0,
  };
}

}  // namespace

std::vector<std::string> Card::device_files(const Node* partition) const {
  const bool is_first = partition == nullptr || partition->partition == 0;
  std::vector<std::string> files;
  if (is_first && !card_file.empty()) files.push_back(card_file);
  const auto minor =
      partition != nullptr && partition->render_minor ? partition->render_minor : render_minor;
  if (minor) files.push_back("/dev/dri/renderD" + std::to_string(*minor));
  return files;
}

bool has_files_of(const Driver& driver, const std::string& folder) {
  const auto bound = read_link(folder + "/driver");
  const std::string name = bound ? bound->substr(bound->rfind('/') + 1) : std::string();
  return !name.empty() && std::ranges::find(driver.names, name) != driver.names.end() &&
         is_there(folder + "/mem_info_vram_total");
}

std::vector<Card> cards_of_bus(const std::string& sys, const Driver& driver) {
  std::vector<Card> cards;
  for (sysfs::BoundCard& bound : sysfs::cards_of_drivers(driver.names, sys)) {
    if (driver.is_fork && !has_files_of(driver, bound.folder)) continue;
    Card card;
    card.folder = std::move(bound.folder);
    card.driver = std::move(bound.driver);
    card.address = std::move(bound.address);
    find_device_files(card);
    card.number = unique_number(card, driver);
    cards.push_back(std::move(card));
  }
  return cards;
}

std::string topology_state(const std::string& sys) {
  return short_line(sys + "/class/kfd/kfd/topology/generation_id");
}

void add_nodes(std::vector<Card>& cards, const std::string& sys) {
  const std::string topology = sys + "/class/kfd/kfd/topology/nodes/";
  for (Card& card : cards) card.nodes.clear();
  std::vector<Numbered> nodes;
  for (const std::string& entry : entries_in(topology)) {
    const auto number = parse_unsigned(entry);
    if (!number) continue;
    Numbered node{.number = *number, .folder = topology + entry};
    node.properties = properties_of(node.folder + "/properties");
    // The others are processors, or not for this container.
    if (value_of(node.properties, "simd_count") > 0) nodes.push_back(std::move(node));
  }
  std::ranges::sort(nodes, {}, &Numbered::number);  // 10 comes after 2
  std::map<std::uint64_t, NodePlace> places;
  for (const Numbered& node : nodes) places.emplace(node.number, place_of(node.properties));
  int runtime_index = 0;
  for (const Numbered& numbered : nodes) {
    const int mine = runtime_index++;
    // A function of its own is a card that is given to virtual machines; else it is a partition.
    const NodePlace& place = places.at(numbered.number);
    std::string exact = place.card;
    exact.back() = static_cast<char>('0' + place.function);
    auto card = std::ranges::find(cards, exact, &Card::address);
    const bool is_function = card != cards.end();
    if (!is_function) card = std::ranges::find(cards, place.card, &Card::address);
    if (card == cards.end()) continue;  // not for this container
    Node node = node_of(numbered);
    if (is_function) node.partition = 0;
    node.runtime_index = mine;
    node.links = links_of(numbered, places);
    card->nodes.push_back(std::move(node));
  }
  for (Card& card : cards) std::ranges::stable_sort(card.nodes, {}, &Node::partition);
}

const Card::Sensors& sensors_of(Card& card) {
  if (card.sensors && (card.sensors->folder.empty() || is_there(card.sensors->folder))) {
    return *card.sensors;
  }
  card.sensors.emplace();
  const std::string all = card.folder + "/hwmon/";
  for (const std::string& entry : entries_in(all)) {
    const std::string folder = all + entry;
    const std::string name = short_line(folder + "/name");
    if (name != "amdgpu" && name != card.driver) continue;
    Card::Sensors& sensors = *card.sensors;
    sensors.folder = folder;
    for (const char* number : {"1", "2", "3"}) {
      const std::string sensor = std::string("/temp") + number + "_";
      const std::string label = short_line(folder + sensor + "label");
      // Instinct cards have no "edge"; the oldest have no labels, and an edge alone.
      if (label == "edge" || (label.empty() && *number == '1')) sensors.edge = folder + sensor;
      if (label == "junction") sensors.junction = folder + sensor;
      if (label == "mem") sensors.memory = folder + sensor;
    }
    break;
  }
  return *card.sensors;
}

}  // namespace berth::amdgpu
