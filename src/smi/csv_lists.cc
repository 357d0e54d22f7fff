// --query-compute-apps, --query-accounted-apps, --query-retired-pages, --query-remapped-rows and
// --query-supported-clocks.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "smi/calendar.h"
#include "smi/csv.h"
#include "smi/facts.h"
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
  const GpuProcess* process = nullptr;
  const AccountedProcess* accounted = nullptr;
  const RetiredPage* page = nullptr;
  Absent no_pages = Absent::unsupported;  // why `page` is null
  std::optional<Absent> no_list;          // why the card has a line that is about nothing
  RetiredPage::Cause cause = RetiredPage::Cause::single_bit;
  Megahertz memory_clock;
  Megahertz graphics_clock;

  [[nodiscard]] Surface surface() const {
    return request.units ? Surface::csv : Surface::csv_without_units;
  }
  [[nodiscard]] std::string text(const Cell& cell, Format format) const {
    return cell.get() ? printable(shown(*cell.get(), format, surface()))
                      : shown_absent(cell.why(), failure_on(*gpu), surface());
  }
  template <class T>
  [[nodiscard]] std::string text(const Reading<T>& reading, Format format) const {
    return text(cell_of(reading), format);
  }
  [[nodiscard]] std::string detail(Detail which, Format format) const {
    return text(gpu->details.cell(which), format);
  }
};

struct Column : ListColumn {
  std::string (*read)(const Item&);
};

constexpr Column stamp_column = {
    {"timestamp", "", "", "When it was looked at."}, [](const Item& item) {
      return date_with_milliseconds(item.snapshot.taken.unix_ms, item.clockface.utc_offset);
    }};
constexpr Column name_column = {{"gpu_name", "", "", "Product name."}, [](const Item& item) {
                                  return item.text(item.gpu->name, Format::text);
                                }};
constexpr Column bus_column = {
    {"gpu_bus_id", "", "", "Where it sits: domain:bus:device.function."},
    [](const Item& item) { return item.text(item.gpu->pci_address, Format::bus_id); }};
constexpr Column serial_column = {
    {"gpu_serial", "", "", "Serial number of the board."},
    [](const Item& item) { return item.text(item.gpu->serial, Format::text); }};
constexpr Column uuid_column = {
    {"gpu_uuid", "", "", "Identity given by the maker."},
    [](const Item& item) { return item.text(item.gpu->uuid, Format::text); }};

/// Each list begins with the five above.
constexpr std::size_t columns_of_the_card = 5;

constexpr auto compute_columns = std::to_array<Column>({
    stamp_column,
    name_column,
    bus_column,
    serial_column,
    uuid_column,
    {{"pid", "", "", "Process."},
     [](const Item& item) { return std::to_string(item.process->pid); }},
    {{"process_name", "name", "", "Program that runs in it."},
     [](const Item& item) { return process_name(*item.process, item.snapshot); }},
    {{"used_gpu_memory", "used_memory", "MiB", "Memory it has on the device."},
     [](const Item& item) { return item.text(item.process->memory, Format::memory); }},
});

constexpr auto accounted_columns = std::to_array<Column>({
    stamp_column,
    name_column,
    bus_column,
    serial_column,
    uuid_column,
    {{"vgpu_instance", "", "", "Virtual device it ran on."},
     [](const Item&) { return std::string("N/A"); }},
    {{"pid", "", "", "Process."},
     [](const Item& item) { return std::to_string(item.accounted->pid); }},
    {{"gpu_utilization", "gpu_util", "%", "Share of its life in which it computed."},
     [](const Item& item) { return item.text(item.accounted->utilization_gpu, Format::percent); }},
    {{"mem_utilization", "mem_util", "%", "Share of its life in which it used memory."},
     [](const Item& item) {
       return item.text(item.accounted->utilization_memory, Format::percent);
     }},
    {{"max_memory_usage", "", "MiB", "Most memory it had."},
     [](const Item& item) { return item.text(item.accounted->memory_max, Format::memory); }},
    {{"time", "", "ms", "How long it computed; 0 while it runs."},
     [](const Item& item) { return item.text(item.accounted->run_time, Format::milliseconds); }},
});

constexpr auto retired_columns = std::to_array<Column>({
    stamp_column,
    name_column,
    bus_column,
    serial_column,
    uuid_column,
    {{"retired_pages.address", "", "", "Address of the page."},
     [](const Item& item) {
       if (item.page == nullptr)
         return shown_absent(item.no_pages, failure_on(*item.gpu), item.surface());
       return fmt::format("{:#018x}", item.page->address);
     }},
    {{"retired_pages.timestamp", "", "", "When it was retired."},
     [](const Item& item) {
       if (item.page == nullptr)
         return shown_absent(item.no_pages, failure_on(*item.gpu), item.surface());
       if (!item.page->retired.get()) return std::string("[N/A]");
       return date_in_words(*item.page->retired.get(), item.clockface.utc_offset);
     }},
    {{"retired_pages.cause", "", "", "Single Bit ECC or Double Bit ECC."},
     [](const Item& item) {
       const auto cause = item.page == nullptr ? item.cause : item.page->cause;
       return std::string(cause == RetiredPage::Cause::single_bit ? "Single Bit ECC"
                                                                  : "Double Bit ECC");
     }},
});

template <Detail Which, Format Form>
std::string read_detail(const Item& item) {
  return item.detail(Which, Form);
}
constexpr auto remapped_columns = std::to_array<Column>({
    stamp_column,
    name_column,
    bus_column,
    serial_column,
    uuid_column,
    {{"remapped_rows.correctable", "", "", "Rows replaced for errors that were corrected."},
     read_detail<Detail::remapped_rows_correctable, Format::number>},
    {{"remapped_rows.uncorrectable", "", "", "Rows replaced for errors that were not."},
     read_detail<Detail::remapped_rows_uncorrectable, Format::number>},
    {{"remapped_rows.pending", "", "", "Whether rows are to be replaced at the next reset."},
     read_detail<Detail::remapped_rows_pending, Format::zero_one>},
    {{"remapped_rows.failure", "", "", "Whether replacing a row ever failed."},
     read_detail<Detail::remapped_rows_failed, Format::zero_one>},
    {{"remapped_rows.histogram.max", "", "", "Banks with all spare rows left."},
     read_detail<Detail::remap_banks_max, Format::banks>},
    {{"remapped_rows.histogram.high", "", "", "Banks with most spare rows left."},
     read_detail<Detail::remap_banks_high, Format::banks>},
    {{"remapped_rows.histogram.partial", "", "", "Banks with some spare rows left."},
     read_detail<Detail::remap_banks_partial, Format::banks>},
    {{"remapped_rows.histogram.low", "", "", "Banks with few spare rows left."},
     read_detail<Detail::remap_banks_low, Format::banks>},
    {{"remapped_rows.histogram.none", "", "", "Banks with no spare row left."},
     read_detail<Detail::remap_banks_none, Format::banks>},
});

std::string clock_text(const Item& item, Megahertz clock) {
  return item.text(Reading<Megahertz>(clock), Format::megahertz);
}
constexpr auto clock_columns = std::to_array<Column>({
    stamp_column,
    name_column,
    bus_column,
    serial_column,
    uuid_column,
    {{"memory", "mem", "MHz", "Memory clock."},
     [](const Item& item) { return clock_text(item, item.memory_clock); }},
    {{"graphics", "gr", "MHz", "A graphics clock that goes with it."},
     [](const Item& item) { return clock_text(item, item.graphics_clock); }},
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
  for (const Cause cause : {Cause::single_bit, Cause::double_bit}) {
    item.cause = cause;
    item.page = nullptr;
    const auto& pages = item.gpu->lists.retired_pages;
    const Cell& count =
        item.gpu->details.cell(cause == Cause::single_bit ? Detail::retired_pages_single_bit
                                                          : Detail::retired_pages_double_bit);
    if (!pages.get()) {
      if (count.get()) continue;  // none, or nobody listed them
      item.no_pages = pages.why() == Absent::not_sampled ? count.why() : pages.why();
      items.push_back(item);
      continue;
    }
    for (const RetiredPage& page : *pages.get()) {
      if (page.cause != cause) continue;
      item.page = &page;
      items.push_back(item);
    }
  }
}

void add_lines(Item item, std::vector<Item>& items) {
  switch (item.request.what) {
    case What::query_compute_apps:
      for (const GpuProcess* process : processes_on(item.gpu->id, item.snapshot)) {
        if (process->use == GpuUse::graphics) continue;
        item.process = process;
        items.push_back(item);
      }
      break;
    case What::query_accounted_apps:
      if (!item.gpu->lists.accounted_processes.get()) {
        item.no_list = item.gpu->lists.accounted_processes.why();
        items.push_back(item);
        break;
      }
      for (const AccountedProcess& one : *item.gpu->lists.accounted_processes.get()) {
        item.accounted = &one;
        items.push_back(item);
      }
      break;
    case What::query_retired_pages:
      add_pages(item, items);
      break;
    case What::query_supported_clocks:
      if (!item.gpu->lists.supported_clocks.get()) {
        item.no_list = item.gpu->lists.supported_clocks.why();
        items.push_back(item);
        break;
      }
      for (const SupportedClocks& clocks : *item.gpu->lists.supported_clocks.get()) {
        item.memory_clock = clocks.memory;
        for (const Megahertz graphics : clocks.graphics) {
          item.graphics_clock = graphics;
          items.push_back(item);
        }
      }
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
    names.push_back(csv_heading(found->name, found->unit));
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
      cells.push_back(item.no_list && !is_of_card
                          ? shown_absent(*item.no_list, failure_on(*item.gpu), item.surface())
                          : column->read(item));
    }
    text += csv_line(cells);
  }
  return {.text = std::move(text)};
}

}  // namespace berth::smi
