#pragma once
// The lists of -q: what an item of each is made of, said once for text, XML and the query that
// lists the same. The same lines print an item and read one back.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "smi/format.h"
#include "smi/tree.h"
#include "snapshot/cell.h"

namespace berth::smi {

/// Where a line of an item stands in text. In XML all of them are inside the item's element.
enum class ItemPlace { before, heads, below };

struct ItemLine {
  std::string_view label;   // of -q
  std::string_view tag;     // of XML
  std::string_view column;  // of the query that lists the same; empty: it has none
  Format format = Format::text;
  ItemPlace place = ItemPlace::below;
};

struct ItemLayout {
  std::string_view tag;  // of the element around an item
  std::span<const ItemLine> lines;
  bool last_repeats = false;
};

/// A cell for each line; where the last one repeats, as many of it as there are.
using ItemCells = std::vector<Cell>;

/// A process on a device.
namespace process_line {
enum : std::size_t { gpu_instance, compute_instance, pid, type, name, memory };
}
inline constexpr auto process_lines = std::to_array<ItemLine>({
    {"GPU instance ID", "gpu_instance_id", "", Format::number, ItemPlace::before},
    {"Compute instance ID", "compute_instance_id", "", Format::number, ItemPlace::before},
    {"Process ID", "pid", "pid", Format::number, ItemPlace::heads},
    {"Type", "type", "", Format::text},
    {"Name", "process_name", "process_name", Format::text},
    {"Used GPU Memory", "used_memory", "used_gpu_memory", Format::memory},
});
inline constexpr ItemLayout process_item{.tag = "process_info", .lines = process_lines};

/// A process that accounting remembers.
namespace accounted_line {
enum : std::size_t { pid, gpu, memory, memory_max, time, running };
}
inline constexpr auto accounted_lines = std::to_array<ItemLine>({
    {"Process ID", "pid", "pid", Format::number, ItemPlace::heads},
    {"GPU Utilization", "gpu_util", "gpu_utilization", Format::percent},
    {"Memory Utilization", "memory_util", "mem_utilization", Format::percent},
    {"Max memory usage", "max_memory_usage", "max_memory_usage", Format::memory},
    {"Time", "time", "time", Format::milliseconds},
    {"Is Running", "is_running", "", Format::number},
});
inline constexpr ItemLayout accounted_item{.tag = "accounted_process_info",
                                           .lines = accounted_lines};

/// A memory clock, and the graphics clocks that go with it.
inline constexpr auto clock_lines = std::to_array<ItemLine>({
    {"Memory", "value", "memory", Format::megahertz, ItemPlace::heads},
    {"Graphics", "supported_graphics_clock", "graphics", Format::megahertz},
});
inline constexpr ItemLayout clock_item{
    .tag = "supported_mem_clock", .lines = clock_lines, .last_repeats = true};

/// A retired page, in XML alone.
namespace page_line {
enum : std::size_t { address, retired };
}
inline constexpr auto page_lines = std::to_array<ItemLine>({
    {"", "retired_page_address", "retired_pages.address", Format::hex_wide},
    {"", "retired_page_timestamp", "retired_pages.timestamp", Format::calendar},
});
inline constexpr ItemLayout page_item{.tag = "retired_page", .lines = page_lines};

/// What pages were retired for, and how many there are: beside their list.
inline constexpr std::string_view single_bit_tag = "multiple_single_bit_retirement";
inline constexpr std::string_view double_bit_tag = "double_bit_retirement";
inline constexpr std::string_view page_count_tag = "retired_count";
inline constexpr std::string_view page_list_tag = "retired_pagelist";

/// A MIG instance among them, whose rows are mig_rows().
inline constexpr std::string_view instance_label = "MIG Device";
inline constexpr std::string_view instance_tag = "mig_device";

/// Whether an element of this name may stand several times: JSON has an array of them, however many
/// there are.
[[nodiscard]] bool is_repeated(std::string_view tag);

void print_item(const ItemLayout& layout, const ItemCells& cells, Surface surface, Failure failure,
                Node& list);
/// Between an item and its cells, there and back.
[[nodiscard]] ItemCells cells_of(const GpuProcess& process, const Snapshot& snapshot);
[[nodiscard]] ItemCells cells_of(const AccountedProcess& process);
/// Nothing: it has no number.
[[nodiscard]] std::optional<AccountedProcess> accounted_from(const ItemCells& cells);

/// A cell as a reading; not_sampled: it holds none of this type.
template <class T>
Reading<T> reading_in(const Cell& cell) {
  return reading_of<T>(cell).value_or(Reading<T>());
}
[[nodiscard]] std::optional<std::uint32_t> small_number(const Cell& cell);
[[nodiscard]] std::optional<pid_t> pid_in(const Cell& cell);

/// The items of a list as it was printed; a line that is missing is not_sampled.
[[nodiscard]] std::vector<ItemCells> items_in(const Node& list, const ItemLayout& layout,
                                              Surface surface);

}  // namespace berth::smi
