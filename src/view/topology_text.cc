#include "view/topology_text.h"

#include <vector>

#include "base/json_archive.h"
#include "base/text.h"
#include "base/tr.h"
#include "place/together.h"
#include "snapshot/details.h"
#include "snapshot/device_kind.h"
#include "snapshot/device_name.h"
#include "view/table.h"
#include "view/values.h"

namespace berth {

namespace {

std::vector<const Device*> whole_devices(const Snapshot& snapshot) {
  std::vector<const Device*> devices;
  for (const Device& device : snapshot.devices) {
    if (!device.parent) devices.push_back(&device);
  }
  return devices;
}

/// Makers other than NVIDIA have links of other names between their cards.
std::string link_word(const Device& a, Joint joint) {
  if (joint.kind != LinkKind::nvlink || is_of(unnamed_vendor, a)) return word_of(joint);
  return "LNK";
}

std::string matrix(const std::vector<const Device*>& devices, const JointTable& joints,
                   const Style& style) {
  std::vector<TableColumn> columns(devices.size() + 2, {.align = Align::right, .least = 5});
  columns.push_back({});
  TableRow head = {std::string("GPU")};
  for (const Device* device : devices) head.emplace_back(index_or_id(*device));
  head.emplace_back("NUMA");
  head.emplace_back("CPUs");
  std::vector<TableRow> rows = {std::move(head)};
  const std::string absent(absent_mark(style));
  for (std::size_t a = 0; a < devices.size(); ++a) {
    TableRow row = {index_or_id(*devices[a])};
    for (std::size_t b = 0; b < devices.size(); ++b) {
      const std::string word = link_word(*devices[a], joints.at(a, b));
      row.emplace_back(word.empty() ? absent : word);
    }
    const auto& node = devices[a]->numa_node.get();
    row.emplace_back(node ? std::to_string(*node) : absent);
    const auto cpus = devices[a]->details.get<std::string>(Detail::cpu_affinity);
    row.emplace_back(cpus.get() ? outside(*cpus.get(), style) : absent);
    rows.push_back(std::move(row));
  }
  Style uncut = style;  // a matrix that lacks its last cards is wrong
  uncut.width = TableColumn::whole;
  return Table(columns, std::move(rows), 1, uncut).rows_text();
}

std::string chosen_text(const Placement& placement) {
  return joined(placement.chosen, ",", [](const Choice& choice) {
    return choice.index ? std::to_string(*choice.index) : choice.device.text();
  });
}

}  // namespace

std::string render_topology(const Snapshot& snapshot, const Request& request,
                            const Placement& placement, const Style& style) {
  const auto devices = whole_devices(snapshot);
  std::string text = simulated_line(snapshot.simulated, style);
  if (devices.empty()) return text + wrapped("", own(tr("No devices."), style), 0, style);
  const JointTable joints(devices, snapshot.devices);
  const std::string links = matrix(devices, joints, style);
  std::string legend(
      tr("PIX: below one PCIe switch; PXB: several; PHB: one host bridge; NODE: one "
         "NUMA node; SYS: across nodes."));
  if (links.find("LNK") != links.npos) {
    legend.insert(0,
                  std::string(tr("LNK: the maker's own link (AMD: xGMI)")) + std::string(tr("; ")));
  }
  if (links.find("NV") != links.npos)
    legend.insert(0, std::string(tr("NVn: n NVLinks")) + std::string(tr("; ")));
  text += links + wrapped("", own(legend, style), 2, style, Paint::dim);
  const std::string chosen = chosen_text(placement);
  const std::string asked = as_typed(request);
  const std::string would = !chosen.empty() ? trf("{} would be given GPU {} now.", asked, chosen)
                            : placement.possible
                                ? trf("{} would have to wait now.", asked)
                                : trf("{} is more than this machine can give.", asked);
  return text + wrapped("", own(would, style), 2, style);
}

std::string topology_json(const Snapshot& snapshot, const Request& request,
                          const Placement& placement) {
  const auto devices = whole_devices(snapshot);
  const JointTable joints(devices, snapshot.devices);
  struct Pair {
    std::size_t a = 0;
    std::size_t b = 0;
  };
  std::vector<Pair> pairs;
  for (std::size_t a = 0; a < devices.size(); ++a) {
    for (std::size_t b = a + 1; b < devices.size(); ++b) pairs.push_back({a, b});
  }
  return write_json(
             JsonLayout::indented,
             [&](Archive& archive) {
               archive.derived("berth_topology", 1);
               archive.derived("simulated", snapshot.simulated);
               archive.derived_list("devices", devices, [&](const Device* device) {
                 archive.derived("id", device->id.text());
                 archive.derived("index", device->index);
                 const auto& node = device->numa_node.get();
                 archive.derived("numa_node", node ? std::optional(*node) : std::nullopt);
                 const auto cpus = device->details.get<std::string>(Detail::cpu_affinity).get();
                 archive.derived("cpus", cpus ? std::optional(*cpus) : std::nullopt);
               });
               archive.derived_list("links", pairs, [&](const Pair& pair) {
                 const std::string word = link_word(*devices[pair.a], joints.at(pair.a, pair.b));
                 archive.derived("a", devices[pair.a]->id.text());
                 archive.derived("b", devices[pair.b]->id.text());
                 archive.derived("link", word.empty() ? std::optional<std::string>() : word);
               });
               archive.derived("asked_for", as_typed(request));
               archive.derived_list("chosen", placement.chosen, [&](const Choice& choice) {
                 archive.derived("id", choice.device.text());
                 archive.derived("index", choice.index);
               });
             }) +
         "\n";
}

}  // namespace berth
