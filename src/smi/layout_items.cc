#include "smi/layout_items.h"

#include <algorithm>
#include <array>
#include <utility>

#include "smi/dump_rows.h"
#include "smi/facts.h"
#include "snapshot/process.h"

namespace berth::smi {

namespace {

std::string_view name_on(const ItemLine& line, Surface surface) {
  return surface == Surface::text ? line.label : line.tag;
}

/// What stands below the line that heads an item, or inside its element.
void read_below(const Node& node, const ItemLayout& layout, Surface surface, ItemCells& cells) {
  for (std::size_t i = 0; i < layout.lines.size(); ++i) {
    const ItemLine& line = layout.lines[i];
    if (surface == Surface::text && line.place != ItemPlace::below) continue;
    const std::string name = normalised(name_on(line, surface));
    if (!layout.last_repeats || i + 1 < layout.lines.size()) {
      cells[i] = cell_in(child_of(node, name), line.format);
      continue;
    }
    cells.resize(i);
    for (const Node& child : node.children) {
      if (normalised(child.name) == name) cells.push_back(cell_in(&child, line.format));
    }
  }
}

std::vector<ItemCells> items_in_text(const Node& list, const ItemLayout& layout) {
  std::vector<ItemCells> items;
  const ItemCells nothing(layout.lines.size());
  ItemCells cells = nothing;
  for (const Node& child : list.children) {
    const auto line = std::ranges::find(layout.lines, normalised(child.name),
                                        [](const ItemLine& one) { return normalised(one.label); });
    if (line == layout.lines.end() || line->place == ItemPlace::below) continue;
    cells[static_cast<std::size_t>(line - layout.lines.begin())] = cell_in(&child, line->format);
    if (line->place != ItemPlace::heads) continue;
    read_below(child, layout, Surface::text, cells);
    items.push_back(std::exchange(cells, nothing));
  }
  return items;
}

}  // namespace

bool is_repeated(std::string_view tag) {
  if (tag == "gpu" || tag == instance_tag) return true;
  return std::ranges::any_of(
      std::array{process_item, accounted_item, clock_item, page_item}, [&](const ItemLayout& item) {
        return tag == item.tag || (item.last_repeats && tag == item.lines.back().tag);
      });
}

void print_item(const ItemLayout& layout, const ItemCells& cells, Surface surface, Failure failure,
                Node& list) {
  const bool text = surface == Surface::text;
  if (!text) list.children.push_back({std::string(layout.tag), "", {}, true});
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const ItemLine& line = layout.lines[std::min(i, layout.lines.size() - 1)];
    Node& parent = text && line.place != ItemPlace::below ? list : list.children.back();
    parent.children.push_back({std::string(name_on(line, surface)),
                               cells[i].get() ? shown(*cells[i].get(), line.format, surface)
                                              : shown_absent(cells[i].why(), failure, surface),
                               {},
                               false});
  }
}

ItemCells cells_of(const GpuProcess& process, const Snapshot& snapshot) {
  ItemCells cells(process_lines.size(), Absent::unsupported);
  if (process.partition) {
    cells[process_line::gpu_instance] = Scalar(std::uint64_t{process.partition->gpu_instance});
    cells[process_line::compute_instance] =
        Scalar(std::uint64_t{process.partition->compute_instance});
  }
  cells[process_line::pid] = Scalar(static_cast<std::uint64_t>(process.pid));
  cells[process_line::type] = Scalar(std::string(word_of(process.use)));
  cells[process_line::name] = Scalar(process_name(process, snapshot));
  cells[process_line::memory] = cell_of(process.memory);
  return cells;
}

ItemCells cells_of(const AccountedProcess& process) {
  ItemCells cells(accounted_lines.size(), Absent::unsupported);
  cells[accounted_line::pid] = Scalar(static_cast<std::uint64_t>(process.pid));
  cells[accounted_line::gpu] = cell_of(process.utilization_gpu);
  cells[accounted_line::memory] = cell_of(process.utilization_memory);
  cells[accounted_line::memory_max] = cell_of(process.memory_max);
  cells[accounted_line::time] = cell_of(process.run_time);
  if (process.running.get()) {
    cells[accounted_line::running] = Scalar(std::uint64_t{*process.running.get() ? 1U : 0U});
  }
  return cells;
}

std::optional<AccountedProcess> accounted_from(const ItemCells& cells) {
  const auto pid = pid_in(cells[accounted_line::pid]);
  if (!pid) return std::nullopt;
  AccountedProcess process{.pid = *pid};
  process.utilization_gpu = reading_in<Percent>(cells[accounted_line::gpu]);
  process.utilization_memory = reading_in<Percent>(cells[accounted_line::memory]);
  process.memory_max = reading_in<Bytes>(cells[accounted_line::memory_max]);
  process.run_time = reading_in<Milliseconds>(cells[accounted_line::time]);
  const auto running = reading_in<std::uint64_t>(cells[accounted_line::running]);
  if (running.get()) process.running = *running.get() != 0;
  return process;
}

std::optional<std::uint32_t> small_number(const Cell& cell) {
  const auto value = reading_in<std::uint64_t>(cell);
  if (!value.get() || !std::in_range<std::uint32_t>(*value.get())) return std::nullopt;
  return static_cast<std::uint32_t>(*value.get());
}

std::optional<pid_t> pid_in(const Cell& cell) {
  const auto number = small_number(cell);
  if (!number || !std::in_range<pid_t>(*number)) return std::nullopt;
  return static_cast<pid_t>(*number);
}

std::vector<ItemCells> items_in(const Node& list, const ItemLayout& layout, Surface surface) {
  if (surface == Surface::text) return items_in_text(list, layout);
  std::vector<ItemCells> items;
  for (const Node& child : list.children) {
    if (child.name != layout.tag) continue;
    items.emplace_back(layout.lines.size());
    read_below(child, layout, surface, items.back());
  }
  return items;
}

}  // namespace berth::smi
