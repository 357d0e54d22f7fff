// What a dump tells in lists: MIG instances, processes, retired pages, supported clocks.

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/text.h"
#include "smi/dump_rows.h"
#include "smi/layout_items.h"

namespace berth::smi {

namespace {

// More than any machine has: what a hostile file makes stays small.
constexpr std::size_t most_processes = 20'000;
constexpr std::size_t most_devices = 4096;

/// The list itself, by the name that its row prints; null: it is not there.
const Node* list_in(const Node& gpu, Special what) {
  const auto row = std::ranges::find(gpu_rows(), what, &LayoutRow::special);
  return row == gpu_rows().end() ? nullptr : child_of(gpu, normalised(row->tag));
}

std::optional<Partition> place_of(const Cell& gpu_instance, const Cell& compute_instance) {
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
  device.partition = place_of(cell_in(child_of(node, "gpuinstanceid"), Format::number),
                              cell_in(child_of(node, "computeinstanceid"), Format::number));
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

DeviceId device_for(const std::optional<Partition>& mig, const Device& parent,
                    const Snapshot& snapshot) {
  const auto found = std::ranges::find_if(snapshot.devices, [&](const Device& one) {
    return mig && one.parent == parent.id && one.partition == mig;
  });
  return found == snapshot.devices.end() ? parent.id : found->id;
}

Reading<std::vector<std::string>> command_of(const Cell& name) {
  const auto text = reading_in<std::string>(name);
  if (!text.get()) return text.why();
  if (text.get()->empty() || *text.get() == "[Not Found]") return Absent::failed;
  return masked_command({*text.get()});
}

void read_retired(const Node& pages, RetiredPage::Cause cause, Device& device) {
  const bool single = cause == RetiredPage::Cause::single_bit;
  const Node* node = child_of(pages, normalised(single ? single_bit_tag : double_bit_tag));
  if (node == nullptr) return;
  const Cell count = cell_in(child_of(*node, normalised(page_count_tag)), Format::number);
  if (count.get() || count.why() != Absent::not_sampled) {
    device.details.put(single ? Detail::retired_pages_single_bit : Detail::retired_pages_double_bit,
                       count);
  }
  const Node* list = child_of(*node, normalised(page_list_tag));
  if (list == nullptr || !count.get()) return;
  auto found = device.lists.retired_pages.get().value_or(std::vector<RetiredPage>{});
  for (const ItemCells& cells : items_in(*list, page_item, Surface::xml)) {
    const auto address = reading_in<std::uint64_t>(cells[page_line::address]);
    if (!address.get()) continue;
    RetiredPage page{.address = *address.get(), .cause = cause};
    const auto when = reading_in<Milliseconds>(cells[page_line::retired]);
    page.retired = when.get() ? Reading<WallTime>(WallTime{when.get()->count()})
                              : Reading<WallTime>(when.why());
    found.push_back(page);
  }
  device.lists.retired_pages = std::move(found);
}

std::vector<SupportedClocks> clocks_in(const Node& list, Surface surface) {
  std::vector<SupportedClocks> all;
  for (const ItemCells& cells : items_in(list, clock_item, surface)) {
    const auto memory = reading_in<Megahertz>(cells.front());
    if (!memory.get()) continue;
    SupportedClocks clocks{.memory = *memory.get()};
    for (const Cell& cell : std::span(cells).subspan(1)) {
      const auto graphics = reading_in<Megahertz>(cell);
      if (graphics.get()) clocks.graphics.push_back(*graphics.get());
    }
    all.push_back(std::move(clocks));
  }
  return all;
}

std::vector<AccountedProcess> accounted_in(const Node& list, Surface surface) {
  std::vector<AccountedProcess> all;
  for (const ItemCells& cells : items_in(list, accounted_item, surface)) {
    if (const auto process = accounted_from(cells)) all.push_back(*process);
  }
  return all;
}

/// The items of a list, or the reason that stands in its place.
template <class T>
Reading<std::vector<T>> list_or_reason(const Node& list, Surface surface,
                                       std::vector<T> (*items)(const Node&, Surface)) {
  if (const auto why = absent_from(list.value); why && list.children.empty()) return *why;
  return items(list, surface);
}

}  // namespace

void add_process(const ItemCells& cells, const Device& parent, Snapshot& snapshot) {
  const auto pid = pid_in(cells[process_line::pid]);
  if (!pid || *pid == 0 || snapshot.gpu_processes.size() >= most_processes) return;
  GpuProcess process;
  process.pid = *pid;
  process.partition =
      place_of(cells[process_line::gpu_instance], cells[process_line::compute_instance]);
  process.device = device_for(process.partition, parent, snapshot);
  if (const auto& type = cells[process_line::type].get()) {
    process.use = use_from(std::get<std::string>(*type));
  }
  process.memory = reading_in<Bytes>(cells[process_line::memory]);
  const bool known = std::ranges::any_of(
      snapshot.processes, [&](const HostProcess& one) { return one.id.pid == process.pid; });
  if (!known) {
    HostProcess host;
    host.id.pid = process.pid;
    host.command = command_of(cells[process_line::name]);
    snapshot.processes.push_back(std::move(host));
  }
  snapshot.gpu_processes.push_back(std::move(process));
}

void read_mig_devices(const Node& gpu, Surface surface, const Device& parent,
                      std::vector<Device>& devices) {
  const Node* list = surface == Surface::text ? &gpu : list_in(gpu, Special::mig_devices);
  if (list == nullptr) return;
  for (const Node& child : list->children) {
    if (normalised(child.name) == normalised(instance_tag)) {
      add_mig(child, surface, parent, devices);
    }
  }
}

bool read_processes(const Node& gpu, Surface surface, const Device& parent, Snapshot& snapshot) {
  const Node* list = list_in(gpu, Special::processes);
  if (list == nullptr || absent_from(list->value)) return false;
  // "Processes : None"; without a value and without lines below it the dump was cut off there.
  if (surface == Surface::text && list->children.empty()) return !trimmed(list->value).empty();
  for (const ItemCells& cells : items_in(*list, process_item, surface)) {
    add_process(cells, parent, snapshot);
  }
  return true;
}

void read_lists(const Node& gpu, Surface surface, Device& device) {
  if (const Node* pages = list_in(gpu, Special::retired_pages)) {
    read_retired(*pages, RetiredPage::Cause::single_bit, device);
    read_retired(*pages, RetiredPage::Cause::double_bit, device);
  }
  Lists& lists = device.lists;
  if (const Node* clocks = list_in(gpu, Special::supported_clocks)) {
    lists.supported_clocks = list_or_reason(*clocks, surface, clocks_in);
  }
  if (const Node* accounted = list_in(gpu, Special::accounted)) {
    lists.accounted_processes = list_or_reason(*accounted, surface, accounted_in);
  }
}

}  // namespace berth::smi
