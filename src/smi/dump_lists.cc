// What a dump tells in lists: MIG instances, processes, retired pages, supported clocks.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text.h"
#include "smi/dump_rows.h"

namespace berth::smi {

namespace {

// More than any machine has: what a hostile file makes stays small.
constexpr std::size_t most_processes = 20'000;
constexpr std::size_t most_devices = 4096;

template <class T>
Reading<T> reading_in(const Node* node, Format format) {
  return reading_of<T>(cell_in(node, format)).value_or(Reading<T>());
}

std::optional<std::uint32_t> small_number(const Node* node) {
  const auto value = reading_in<std::uint64_t>(node, Format::number);
  if (!value.get() || *value.get() > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(*value.get());
}

std::optional<Partition> place_of(const Node* gpu_instance, const Node* compute_instance) {
  const auto gpu = small_number(gpu_instance);
  const auto compute = small_number(compute_instance);
  if (!gpu) return std::nullopt;
  return Partition{*gpu, compute.value_or(0)};
}

void add_mig(const Node& node, Surface surface, const Device& parent,
             std::vector<Device>& devices) {
  Device device;
  device.kind = DeviceKind::nvidia_mig;
  device.parent = parent.id;
  device.partition = place_of(child_of(node, "gpuinstanceid"), child_of(node, "computeinstanceid"));
  if (!device.partition || devices.size() >= most_devices) return;
  device.id = DeviceId(fmt::format("{}/{}/{}", parent.id.text(), device.partition->gpu_instance,
                                   device.partition->compute_instance));
  device.index = parent.index;
  device.name = parent.name;
  device.pci_address = parent.pci_address;
  device.architecture = parent.architecture;
  read_rows(node, mig_index_of(surface), device);
  keep_plain_ids(device);
  devices.push_back(std::move(device));
}

GpuUse use_from(std::string_view letters) {
  letters = trimmed(letters);
  if (letters == "G") return GpuUse::graphics;
  if (letters == "C+G") return GpuUse::both;
  return letters == "M+C" || letters == "M" ? GpuUse::mps : GpuUse::compute;
}

/// One process as either form tells it; the nodes may be null.
struct ProcessNodes {
  const Node* gpu_instance = nullptr;
  const Node* compute_instance = nullptr;
  const Node* pid = nullptr;
  const Node* type = nullptr;
  const Node* name = nullptr;
  const Node* memory = nullptr;
};

DeviceId device_for(const std::optional<Partition>& mig, const Device& parent,
                    const Snapshot& snapshot) {
  const auto found = std::ranges::find_if(snapshot.devices, [&](const Device& one) {
    return mig && one.parent == parent.id && one.partition == mig;
  });
  return found == snapshot.devices.end() ? parent.id : found->id;
}

Reading<std::vector<std::string>> command_of(const Node* name) {
  if (name == nullptr) return Absent::not_sampled;
  const std::string_view text = trimmed(name->value);
  if (const auto why = absent_from(text)) return *why;
  if (text.empty() || text == "[Not Found]") return Absent::failed;
  return masked_command({std::string(text)});
}

void add_process(const ProcessNodes& nodes, const Device& parent, Snapshot& snapshot) {
  const auto pid = small_number(nodes.pid);
  if (!pid || *pid == 0 || *pid > 0x7fffffff) return;
  if (snapshot.gpu_processes.size() >= most_processes) return;
  GpuProcess process;
  process.pid = static_cast<pid_t>(*pid);
  process.partition = place_of(nodes.gpu_instance, nodes.compute_instance);
  process.device = device_for(process.partition, parent, snapshot);
  if (nodes.type != nullptr) process.use = use_from(nodes.type->value);
  process.memory = reading_in<Bytes>(nodes.memory, Format::memory);
  const bool known = std::ranges::any_of(
      snapshot.processes, [&](const HostProcess& one) { return one.id.pid == process.pid; });
  if (!known) {
    HostProcess host;
    host.id.pid = process.pid;
    host.command = command_of(nodes.name);
    snapshot.processes.push_back(std::move(host));
  }
  snapshot.gpu_processes.push_back(std::move(process));
}

/// In text the instances stand in lines before "Process ID", the rest below it.
void read_process_lines(const Node& list, const Device& parent, Snapshot& snapshot) {
  ProcessNodes nodes;
  for (const Node& line : list.children) {
    const std::string name = normalised(line.name);
    if (name == "gpuinstanceid") nodes.gpu_instance = &line;
    if (name == "computeinstanceid") nodes.compute_instance = &line;
    if (name != "processid") continue;
    nodes.pid = &line;
    nodes.type = child_of(line, "type");
    nodes.name = child_of(line, "name");
    nodes.memory = child_of(line, "usedgpumemory");
    add_process(nodes, parent, snapshot);
    nodes = {};
  }
}

void read_process_elements(const Node& list, const Device& parent, Snapshot& snapshot) {
  for (const Node& one : list.children) {
    if (one.name != "process_info") continue;
    add_process({.gpu_instance = child_of(one, "gpuinstanceid"),
                 .compute_instance = child_of(one, "computeinstanceid"),
                 .pid = child_of(one, "pid"),
                 .type = child_of(one, "type"),
                 .name = child_of(one, "processname"),
                 .memory = child_of(one, "usedmemory")},
                parent, snapshot);
  }
}

void read_retired(const Node& node, RetiredPage::Cause cause, Detail count, Device& device) {
  const Cell number = cell_in(child_of(node, "retiredcount"), Format::number);
  if (number.get() || number.why() != Absent::not_sampled) device.details.put(count, number);
  const Node* list = child_of(node, "retiredpagelist");
  if (list == nullptr || !number.get()) return;
  auto pages = device.lists.retired_pages.get().value_or(std::vector<RetiredPage>{});
  for (const Node& one : list->children) {
    const Node* address = one.children.empty() ? &one : child_of(one, "retiredpageaddress");
    const auto place = reading_in<std::uint64_t>(address, Format::hex);
    if (!place.get()) continue;
    RetiredPage page{.address = *place.get(), .cause = cause};
    const auto when = reading_in<Milliseconds>(child_of(one, "retiredpagetimestamp"), Format::date);
    page.retired = when.get() ? Reading<WallTime>(WallTime{when.get()->count()})
                              : Reading<WallTime>(when.why());
    pages.push_back(page);
  }
  device.lists.retired_pages = std::move(pages);
}

void read_clocks(const Node& list, Device& device) {
  if (const auto why = absent_from(list.value); why && list.children.empty()) {
    device.lists.supported_clocks = *why;
    return;
  }
  std::vector<SupportedClocks> all;
  for (const Node& memory : list.children) {
    const Node* value = memory.name == "supported_mem_clock" ? child_of(memory, "value") : &memory;
    const auto clock = reading_in<Megahertz>(value, Format::megahertz);
    if (!clock.get()) continue;
    SupportedClocks clocks{.memory = *clock.get()};
    for (const Node& graphics : memory.children) {
      if (&graphics == value) continue;
      const auto one = reading_in<Megahertz>(&graphics, Format::megahertz);
      if (one.get()) clocks.graphics.push_back(*one.get());
    }
    all.push_back(std::move(clocks));
  }
  device.lists.supported_clocks = std::move(all);
}

void read_accounted(const Node& list, Device& device) {
  if (const auto why = absent_from(list.value); why && list.children.empty()) {
    device.lists.accounted_processes = *why;
    return;
  }
  std::vector<AccountedProcess> all;
  for (const Node& one : list.children) {
    const Node* pid_node = child_of(one, "pid");
    const auto pid = small_number(pid_node == nullptr ? &one : pid_node);
    if (!pid || *pid > 0x7fffffff) continue;
    AccountedProcess process{.pid = static_cast<pid_t>(*pid)};
    const auto either = [&](std::string_view xml, std::string_view text) {
      const Node* node = child_of(one, xml);
      return node == nullptr ? child_of(one, text) : node;
    };
    process.utilization_gpu =
        reading_in<Percent>(either("gpuutil", "gpuutilization"), Format::percent);
    process.utilization_memory =
        reading_in<Percent>(either("memoryutil", "memoryutilization"), Format::percent);
    process.memory_max = reading_in<Bytes>(child_of(one, "maxmemoryusage"), Format::memory);
    process.run_time = reading_in<Milliseconds>(child_of(one, "time"), Format::milliseconds);
    const auto running = reading_in<std::uint64_t>(child_of(one, "isrunning"), Format::number);
    if (running.get()) process.running = *running.get() != 0;
    all.push_back(process);
  }
  device.lists.accounted_processes = std::move(all);
}

}  // namespace

void read_mig_devices(const Node& gpu, Surface surface, const Device& parent,
                      std::vector<Device>& devices) {
  const Node* list = surface == Surface::text ? &gpu : child_of(gpu, "migdevices");
  if (list == nullptr) return;
  for (const Node& child : list->children) {
    if (normalised(child.name) == "migdevice") add_mig(child, surface, parent, devices);
  }
}

bool read_processes(const Node& gpu, Surface surface, const Device& parent, Snapshot& snapshot) {
  const Node* list = child_of(gpu, "processes");
  if (list == nullptr || absent_from(list->value)) return false;
  // "Processes : None"; without a value and without lines below it the dump was cut off there.
  if (surface == Surface::text && list->children.empty()) return !trimmed(list->value).empty();
  surface == Surface::text ? read_process_lines(*list, parent, snapshot)
                           : read_process_elements(*list, parent, snapshot);
  return true;
}

void read_lists(const Node& gpu, Device& device) {
  if (const Node* pages = child_of(gpu, "retiredpages")) {
    if (const Node* single = child_of(*pages, "multiplesinglebitretirement")) {
      read_retired(*single, RetiredPage::Cause::single_bit, Detail::retired_pages_single_bit,
                   device);
    }
    if (const Node* both = child_of(*pages, "doublebitretirement")) {
      read_retired(*both, RetiredPage::Cause::double_bit, Detail::retired_pages_double_bit, device);
    }
  }
  if (const Node* clocks = child_of(gpu, "supportedclocks")) read_clocks(*clocks, device);
  if (const Node* accounted = child_of(gpu, "accountedprocesses")) {
    read_accounted(*accounted, device);
  }
}

}  // namespace berth::smi
