// Which devices are near which: by NVLink, on which NUMA node, and the word for each pair.

#include "serve/api_json.h"
#include "snapshot/topology.h"

namespace berth::serve {

namespace {

/// For each device the first that NVLinks lead to from it, over others too; itself: none does.
std::vector<std::size_t> nvlink_groups(const std::vector<std::vector<Joint>>& joints) {
  std::vector<std::size_t> groups(joints.size());
  for (std::size_t i = 0; i < joints.size(); ++i) {
    groups[i] = i;
    for (std::size_t before = 0; before < i; ++before) {
      if (joints[i][before].kind != LinkKind::nvlink) continue;
      // Two groups meet in this device: all of the later one belong to the earlier.
      const std::size_t one = std::min(groups[before], groups[i]);
      const std::size_t other = std::max(groups[before], groups[i]);
      for (std::size_t& group : groups) group = group == other ? one : group;
    }
  }
  return groups;
}

}  // namespace

HttpResponse answer_topology(const Question& question) {
  const auto seen = seen_by(question.principal, question.context);
  std::vector<Device> cards;
  for (const Device& device : seen->devices) {
    if (!device.parent) cards.push_back(device);
  }
  const Addresses addresses = addresses_of(cards);
  std::vector<Attachment> attached;
  attached.reserve(cards.size());
  for (const Device& card : cards) attached.emplace_back(card, addresses);
  std::vector<std::vector<Joint>> joints;
  for (const Attachment& one : attached) {
    std::vector<Joint>& row = joints.emplace_back();
    for (const Attachment& other : attached) row.push_back(one.joint_with(other));
  }
  const auto groups = nvlink_groups(joints);
  return json_answer([&](Archive& archive) {
    archive.derived("simulated", seen->simulated);
    std::size_t place = 0;
    archive.derived_list("devices", cards, [&](const Device& card) {
      std::vector<std::string> links;
      for (const Joint& joint : joints[place]) links.push_back(word_of(joint));
      const auto members = std::ranges::count(groups, groups[place]);
      archive.derived("id", card.id);
      archive.derived("numa_node", card.numa_node);
      archive.derived("nvlink_group", members > 1 ? std::optional(groups[place]) : std::nullopt);
      archive.derived("links", links);
      ++place;
    });
  });
}

}  // namespace berth::serve
