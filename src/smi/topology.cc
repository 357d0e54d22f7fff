// topo -m, nvlink -s and -B: what the devices are plugged into.

#include <fmt/format.h>

#include <algorithm>

#include "smi/facts.h"
#include "smi/generation.h"
#include "smi/smi.h"
#include "snapshot/details.h"
#include "snapshot/questions.h"
#include "snapshot/topology.h"

namespace berth::smi {

namespace {

bool has_no_links(const Device& gpu) {
  const auto& links = gpu.lists.nvlinks;
  if (links.get()) return links.get()->empty();
  const auto count = gpu.details.get<std::uint64_t>(Detail::nvlink_count);
  return links.why() == Absent::unsupported || count == Reading<std::uint64_t>(std::uint64_t{0}) ||
         count == Reading<std::uint64_t>(Absent::unsupported);
}

constexpr std::string_view unknown = "N/A";

std::string relation(const Device& a, const Device& b, const Snapshot& snapshot) {
  if (a.id == b.id) return " X ";
  const Joint joint = joint_between(a, b, snapshot.devices);
  const auto is_placed = [](const Device& gpu) {
    return gpu.details.get<std::string>(Detail::pci_path).get().has_value();
  };
  const bool is_known = joint.kind == LinkKind::nvlink || (is_placed(a) && is_placed(b));
  const std::string word = is_known ? word_of(joint) : std::string();
  return word.empty() ? std::string(unknown) : word;
}

constexpr std::string_view legend = R"(
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks
)";

}  // namespace

Output render_topology(const Snapshot& snapshot, const SmiRequest& request) {
  const auto cards = gpus(snapshot, request.devices);
  // The heading is underlined, also where no terminal is: that is the format.
  std::string text = "\t\x1b[4m";
  for (const Device* gpu : cards) text += fmt::format("GPU{}\t", gpu->index.value_or(0));
  text += "CPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n";
  const std::string nothing = generation_of(snapshot).says_no_affinity ? "N/A" : "";
  bool all_known = true;
  for (const Device* gpu : cards) {
    text += fmt::format("GPU{}\t", gpu->index.value_or(0));
    for (const Device* other : cards) {
      const std::string how = relation(*gpu, *other, snapshot);
      all_known = all_known && how != unknown;
      text += how + "\t";
    }
    text += gpu->details.get<std::string>(Detail::cpu_affinity).get().value_or(nothing) + "\t";
    text += gpu->numa_node.get() ? fmt::format("{}", *gpu->numa_node.get()) : nothing;
    text += "\t\tN/A\n";
  }
  text += legend;
  if (!all_known)
    text += "  N/A  = Not known to berth: the kernel's device tree was not readable\n";
  return {.text = text, .code = 0};
}

Output render_nvlink(const Snapshot& snapshot, const SmiRequest& request) {
  constexpr int not_available = 3;
  Output output;
  for (const Device* gpu : gpus(snapshot, request.devices)) {
    if (!gpu->lost || is_lost_without_handle(*gpu)) output.text += list_line(*gpu);
    if (gpu->lost) continue;
    if (division_of(*gpu) == Division::divided) {
      output.text += "Nvlink queries are not supported for Devices in MIG mode\n";
      continue;
    }
    const auto& links = gpu->lists.nvlinks;
    if (has_no_links(*gpu)) {
      output.text += "Device does not have or support Nvlink\n";
      continue;
    }
    if (!links.get()) {
      const auto count = gpu->details.get<std::uint64_t>(Detail::nvlink_count);
      if (count.get()) output.text += fmt::format("Links: {}. ", *count.get());
      output.text += "Unable to retrieve Nvlink information: their state could not be read\n";
      output.code = not_available;
      continue;
    }
    const bool any = std::any_of(links.get()->begin(), links.get()->end(), [](const NvLink& link) {
      return link.active.get().value_or(false);
    });
    if (!any) {
      output.text += "NVML: Unable to retrieve Nvlink information as all links are inActive\n";
      continue;
    }
    for (const NvLink& link : *links.get()) {
      constexpr double giga = 1e9;
      std::string state = "<inactive>";
      if (link.active.get().value_or(false)) {
        state =
            link.speed.get()
                ? fmt::format("{:.3f} GB/s", static_cast<double>(link.speed.get()->count()) / giga)
                : "N/A";
      }
      output.text += fmt::format("\t Link {}: {}\n", link.number, state);
    }
  }
  return output;
}

}  // namespace berth::smi
