// --query-compute-apps, --query-accounted-apps, --query-retired-pages, --query-remapped-rows and
// --query-supported-clocks.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "smi/csv.h"
#include "smi/facts.h"
#include "smi/layout_items.h"
#include "snapshot/questions.h"

namespace berth::smi {

namespace {

using What = SmiRequest::What;

/// One line: the GPU, and what of it the line is about.
struct Item {
  const Snapshot& snapshot;
  const SmiRequest& request;
  Clockface clockface;
  const Device* gpu = nullptr;
  ItemCells cells;                // of a process, a page, a clock
  std::optional<Absent> no_list;  // why the card has a line that is about nothing
  RetiredPage::Cause cause = RetiredPage::Cause::single_bit;

  [[nodiscard]] std::string text(const Cell& cell, Format format) const {
    const Surface surface = request.units ? Surface::csv : Surface::csv_without_units;
    return cell.get() ? printable(shown(*cell.get(), format, surface))
                      : shown_absent(cell.why(), failure_on(*gpu), surface);
  }
  [[nodiscard]] Cell local(WallTime time) const {
    return Scalar(time.unix_ms + std::chrono::milliseconds(clockface.utc_offset).count());
  }
};

struct Column : ListColumn {
  Cell (*read)(const Item&);
};

constexpr Column stamp_column = {{"timestamp", "", Format::date, "When it was looked at."},
                                 [](const Item& item) { return item.local(item.snapshot.taken); }};
constexpr Column name_column = {{"gpu_name", "", Format::text, "Product name."},
                                [](const Item& item) { return cell_of(item.gpu->name); }};
constexpr Column bus_column = {
    {"gpu_bus_id", "", Format::bus_id, "Where it sits: domain:bus:device.function."},
    [](const Item& item) { return cell_of(item.gpu->pci_address); }};
constexpr Column serial_column = {{"gpu_serial", "", Format::text, "Serial number of the board."},
                                  [](const Item& item) { return cell_of(item.gpu->serial); }};
constexpr Column uuid_column = {{"gpu_uuid", "", Format::text, "Identity given by the maker."},
                                [](const Item& item) { return cell_of(item.gpu->uuid); }};

/// Each list begins with the five above.
constexpr std::size_t columns_of_the_card = 5;

/// What -q prints of the same item in a line of its own.
template <const auto& Lines, std::size_t Which>
constexpr Column line_column(std::string_view alias, std::string_view help) {
  return {{Lines[Which].column, alias, Lines[Which].format, help},
          [](const Item& item) { return item.cells[Which]; }};
}

constexpr auto compute_columns = std::to_array<Column>({
    stamp_column,
    name_column,
    bus_column,
    serial_column,
    uuid_column,
    line_column<process_lines, process_line::pid>("", "Process."),
    line_column<process_lines, process_line::name>("name", "Program that runs in it."),
    line_column<process_lines, process_line::memory>("used_memory", "Memory it has on the device."),
});

constexpr auto accounted_columns = std::to_array<Column>({
    stamp_column,
    name_column,
    bus_column,
    serial_column,
    uuid_column,
    {{"vgpu_instance", "", Format::text, "Virtual device it ran on."},
     [](const Item&) { return Cell(Scalar(std::string("N/A"))); }},
    line_column<accounted_lines, accounted_line::pid>("", "Process."),
    line_column<accounted_lines, accounted_line::gpu>("gpu_util",
                                                      "Share of its life in which it computed."),
    line_column<accounted_lines, accounted_line::memory>(
        "mem_util", "Share of its life in which it used memory."),
    line_column<accounted_lines, accounted_line::memory_max>("", "Most memory it had."),
    line_column<accounted_lines, accounted_line::time>("",
                                                       "How long it computed; 0 while it runs."),
});

constexpr auto retired_columns = std::to_array<Column>({
    stamp_column,
    name_column,
    bus_column,
    serial_column,
    uuid_column,
    line_column<page_lines, page_line::address>("", "Address of the page."),
    line_column<page_lines, page_line::retired>("", "When it was retired."),
    {{"retired_pages.cause", "", Format::text, "Single Bit ECC or Double Bit ECC."},
     [](const Item& item) {
       const bool single = item.cause == RetiredPage::Cause::single_bit;
       return Cell(Scalar(std::string(single ? "Single Bit ECC" : "Double Bit ECC")));
     }},
});

template <Detail Which>
Cell read_detail(const Item& item) {
  return item.gpu->details.cell(Which);
}
constexpr auto remapped_columns = std::to_array<Column>({
    stamp_column,
    name_column,
    bus_column,
    serial_column,
    uuid_column,
    {{"remapped_rows.correctable", "", Format::number,
      "Rows replaced for errors that were corrected."},
     read_detail<Detail::remapped_rows_correctable>},
    {{"remapped_rows.uncorrectable", "", Format::number, "Rows replaced for errors that were not."},
     read_detail<Detail::remapped_rows_uncorrectable>},
    {{"remapped_rows.pending", "", Format::zero_one,
      "Whether rows are to be replaced at the next reset."},
     read_detail<Detail::remapped_rows_pending>},
    {{"remapped_rows.failure", "", Format::zero_one, "Whether replacing a row ever failed."},
     read_detail<Detail::remapped_rows_failed>},
    {{"remapped_rows.histogram.max", "", Format::banks, "Banks with all spare rows left."},
     read_detail<Detail::remap_banks_max>},
    {{"remapped_rows.histogram.high", "", Format::banks, "Banks with most spare rows left."},
     read_detail<Detail::remap_banks_high>},
    {{"remapped_rows.histogram.partial", "", Format::banks, "Banks with some spare rows left."},
     read_detail<Detail::remap_banks_partial>},
    {{"remapped_rows.histogram.low", "", Format::banks, "Banks with few spare rows left."},
     read_detail<Detail::remap_banks_low>},
    {{"remapped_rows.histogram.none", "", Format::banks, "Banks with no spare row left."},
     read_detail<Detail::remap_banks_none>},
});

constexpr auto clock_columns = std::to_array<Column>({
    stamp_column,
    name_column,
    bus_column,
    serial_column,
    uuid_column,
    line_column<clock_lines, 0>("mem", "Memory clock."),
    line_column<clock_lines, 1>("gr", "A graphics clock that goes with it."),
});

std::span<const Column> columns_of(What what) {
  switch (what) {
    case What::query_compute_apps:
      return compute_columns;
    case What::query_accounted_apps:
      return accounted_columns;
    case What::query_retired_pages:
      return retired_columns;
    case What::query_remapped_rows:
      return remapped_columns;
    case What::query_supported_clocks:
      return clock_columns;
    default:
      return {};
  }
}

/// Pages by cause, singles first; a cause that the device cannot tell has a line that says so.
void add_pages(Item item, std::vector<Item>& items) {
  using Cause = RetiredPage::Cause;
  const auto& pages = item.gpu->lists.retired_pages;
  for (const Cause cause : {Cause::single_bit, Cause::double_bit}) {
    item.cause = cause;
    const Cell& count =
        item.gpu->details.cell(cause == Cause::single_bit ? Detail::retired_pages_single_bit
                                                          : Detail::retired_pages_double_bit);
    if (!pages.get() && !count.get()) {  // else there are none, or nobody listed them
      const Absent why = pages.why() == Absent::not_sampled ? count.why() : pages.why();
      item.cells = {why, why};
      items.push_back(item);
    }
    for (const RetiredPage& page : pages.get().value_or(std::vector<RetiredPage>{})) {
      if (page.cause != cause) continue;
      const auto& when = page.retired.get();
      item.cells = {Scalar(page.address), when ? item.local(*when) : Cell(Absent::unsupported)};
      items.push_back(item);
    }
  }
}

/// A line for each of a list; one that says why where there is no list.
template <class T, class Add>
void add_each(Item& item, const Reading<std::vector<T>>& list, std::vector<Item>& items, Add add) {
  if (!list.get()) {
    item.no_list = list.why();
    items.push_back(item);
    return;
  }
  for (const T& one : *list.get()) add(one);
}

void add_lines(Item item, std::vector<Item>& items) {
  const auto add = [&](ItemCells cells) {
    item.cells = std::move(cells);
    items.push_back(item);
  };
  const Lists& lists = item.gpu->lists;
  switch (item.request.what) {
    case What::query_compute_apps:
      for (const GpuProcess* process : processes_on(item.gpu->id, item.snapshot)) {
        if (process->use != GpuUse::graphics) add(cells_of(*process, item.snapshot));
      }
      break;
    case What::query_accounted_apps:
      add_each(item, lists.accounted_processes, items,
               [&](const AccountedProcess& one) { add(cells_of(one)); });
      break;
    case What::query_retired_pages:
      add_pages(item, items);
      break;
    case What::query_supported_clocks:
      add_each(item, lists.supported_clocks, items, [&](const SupportedClocks& clocks) {
        for (const Megahertz graphics : clocks.graphics) {
          add({cell_value(clocks.memory), cell_value(graphics)});
        }
      });
      break;
    default:
      items.push_back(item);
  }
}

}  // namespace

std::vector<ListColumn> list_columns(What what) {
  const auto columns = columns_of(what);
  return {columns.begin(), columns.end()};
}

Output render_list_csv(const Snapshot& snapshot, const SmiRequest& request, Clockface clockface) {
  std::vector<const Column*> columns;
  std::vector<std::string> names;
  const auto all = columns_of(request.what);
  for (const std::string& name : request.fields) {
    const auto found = std::ranges::find_if(all, [&](const Column& column) {
      return column.name == name || (!column.alias.empty() && column.alias == name);
    });
    if (found == all.end()) return unknown_field(name);
    columns.push_back(&*found);
    names.push_back(csv_heading(found->name, unit_of(found->format)));
  }
  std::vector<Item> items;
  for (const Device* gpu : gpus(snapshot, request.devices)) {
    add_lines({.snapshot = snapshot, .request = request, .clockface = clockface, .gpu = gpu},
              items);
  }
  std::string text = request.header ? csv_line(names) : "";
  for (const Item& item : items) {
    std::vector<std::string> cells;
    for (const Column* column : columns) {
      const bool is_of_card = column < all.data() + columns_of_the_card;
      cells.push_back(item.no_list && !is_of_card ? item.text(*item.no_list, column->format)
                                                  : item.text(column->read(item), column->format));
    }
    text += csv_line(cells);
  }
  return {.text = std::move(text)};
}

}  // namespace berth::smi
