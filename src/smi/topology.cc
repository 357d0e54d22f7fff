// topo -m, nvlink -s and -B: what the devices are plugged into.

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "smi/facts.h"
#include "smi/smi.h"
#include "snapshot/details.h"
#include "snapshot/questions.h"

namespace berth::smi {

namespace {

/// "pci0000:00/0000:00:01.0/0000:01:00.0": host bridge, bridges, the device.
std::vector<std::string_view> path_of(const Device& gpu, std::string& storage) {
  storage = gpu.details.get<std::string>(Detail::pci_path).get().value_or("");
  if (storage.empty()) return {};
  return split(storage, '/');
}

std::vector<std::string> active_remotes(const Device& gpu) {
  std::vector<std::string> remotes;
  for (const NvLink& link : gpu.lists.nvlinks.get().value_or(std::vector<NvLink>{})) {
    if (link.active.get().value_or(false)) remotes.push_back(link.remote.get().value_or(""));
  }
  return remotes;
}

/// Links that join the two: straight, or through switches that both are connected to.
std::size_t links_between(const Device& a, const Device& b) {
  const auto of_a = active_remotes(a);
  const auto of_b = active_remotes(b);
  const std::string address = b.pci_address.get().value_or("");
  const auto straight = std::count(of_a.begin(), of_a.end(), address);
  if (straight > 0 && !address.empty()) return static_cast<std::size_t>(straight);
  return static_cast<std::size_t>(
      std::count_if(of_a.begin(), of_a.end(), [&](const std::string& remote) {
        return !remote.empty() && std::find(of_b.begin(), of_b.end(), remote) != of_b.end();
      }));
}

bool has_no_links(const Device& gpu) {
  const auto& links = gpu.lists.nvlinks;
  if (links.get()) return links.get()->empty();
  const auto count = gpu.details.get<std::uint64_t>(Detail::nvlink_count);
  return links.why() == Absent::unsupported || count == Reading<std::uint64_t>(std::uint64_t{0}) ||
         count == Reading<std::uint64_t>(Absent::unsupported);
}

constexpr std::string_view unknown = "N/A";

std::string relation(const Device& a, const Device& b) {
  if (a.id == b.id) return " X ";
  if (const std::size_t links = links_between(a, b); links > 0) return fmt::format("NV{}", links);
  std::string text_a;
  std::string text_b;
  const auto path_a = path_of(a, text_a);
  const auto path_b = path_of(b, text_b);
  if (path_a.size() < 2 || path_b.size() < 2) return std::string(unknown);
  const auto parting =
      std::mismatch(path_a.begin(), path_a.end(), path_b.begin(), path_b.end()).first;
  const auto common = static_cast<std::size_t>(parting - path_a.begin());
  if (common == 0) return a.numa_node == b.numa_node ? "NODE" : "SYS";
  if (common == 1) return "PHB";
  // Below the bridge they share there is the port of a switch for each, then the device itself.
  return std::max(path_a.size(), path_b.size()) - common <= 2 ? "PIX" : "PXB";
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
  constexpr int first_with_words = 560;  // 535 to 555 leave the place of what is not known empty
  const std::string nothing = generation_of(snapshot) < first_with_words ? "" : "N/A";
  bool all_known = true;
  for (const Device* gpu : cards) {
    text += fmt::format("GPU{}\t", gpu->index.value_or(0));
    for (const Device* other : cards) {
      const std::string how = relation(*gpu, *other);
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
