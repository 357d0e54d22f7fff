// The devices' columns: what is shown of each, and what goes first when the terminal is narrow.

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/tr.h"
#include "snapshot/device_kind.h"
#include "snapshot/device_name.h"
#include "snapshot/heat.h"
#include "view/health_text.h"
#include "view/status_rows.h"
#include "view/values.h"

namespace berth {

namespace {

enum Column : std::size_t {
  index_column,
  name_column,
  temperature_column,
  utilization_column,
  bar_column,
  memory_column,
  power_column,
  clock_column,
  pcie_column,
  fan_column,
  address_column,
  state_column,
  users_column,
  column_count
};

constexpr std::array<TableColumn, column_count> columns = {{
    // The words of snapshot/fields.cc where it can be.
    {.header = as_key("GPU"), .align = Align::right},
    {.header = as_key("Name"), .minimum = 8},
    {.header = as_key("Temp"), .align = Align::right, .drop_order = 4},
    {.header = as_key("Util"), .align = Align::right},
    {.header = "", .minimum = 6, .drop_order = 6},
    {.header = as_key("Memory"), .align = Align::right},
    {.header = as_key("Power"), .align = Align::right, .drop_order = 5},
    {.header = as_key("Clock"),
     .align = Align::right,
     .drop_order = 13,
     .when_empty = WhenEmpty::absent_goes},
    {.header = as_key("PCIe"),
     .align = Align::right,
     .drop_order = 12,
     .when_empty = WhenEmpty::absent_goes},
    {.header = as_key("Fan"),
     .align = Align::right,
     .drop_order = 11,
     .when_empty = WhenEmpty::absent_goes},
    {.header = as_key("PCI address"),
     .minimum = 10,
     .drop_order = 14,
     .when_empty = WhenEmpty::absent_goes},
    {.header = as_key("State")},
    {.header = as_key("Users"),
     .minimum = 5,
     .drop_order = 3,
     .when_empty = WhenEmpty::absent_goes},
}};

constexpr int bar_wanted = 10;

/// "NVIDIA GeForce RTX 3090" → "RTX 3090"; a MIG instance's is what comes after its parent's.
std::string short_name(const Device& device, const Style& style) {
  std::string name =
      reading_text(device.name, style, [&](const std::string& n) { return outside(n, style); });
  const std::size_t slice = name.find("MIG ");
  if (device.parent && slice != std::string::npos) name.erase(0, slice);
  name = std::string(model_of(name));
  if (device.parent) name.insert(0, style.utf8 ? "└ " : "- ");
  return name;
}

std::string memory_text(const Device& device, const Style& style) {
  const auto& used = device.memory_used.get();
  const auto& total = device.memory_total.get();
  const std::string bound(is_used_a_bound(device) ? bound_mark(style) : "");
  if (used && total) return bound + bytes_of_total(*used, *total);
  if (!used && !total) return std::string(absent_mark(style));
  return bound + reading_text(device.memory_used, style, bytes_short) + "/" +
         reading_text(device.memory_total, style, bytes_short);
}

std::string watts(Milliwatts power) { return fmt::format("{}", (power.count() + 500) / 1000); }

std::string power_and_limit(const Device& device, const Style& style) {
  if (!device.power_draw.get() && !device.power_limit.get()) {
    return std::string(absent_mark(style));
  }
  std::string text = reading_text(device.power_draw, style, watts);
  if (device.power_limit.get()) text += "/" + watts(*device.power_limit.get());
  return text + "W";
}

/// What the look at hand shows to be wrong; the details, which it does not have, are for `berth
/// health`.
void add_health(const Device& device, const Snapshot& snapshot, const Style& style,
                DeviceRow& row) {
  if (!is_examined(device) || !row.reason.empty()) return;
  const DeviceHealth health = health_of(device, snapshot);
  const auto bad = std::ranges::count_if(health.findings, [](const Finding& finding) {
    return finding.severity >= Severity::warning;
  });
  if (bad == 0 && health.state != HealthState::unknown) return;
  std::string text(health_word(health.state));
  if (bad > 1) text = trf("{} (first of {})", text, bad);
  text += tr(": ");
  text += bad == 0 ? not_examined_text(health)
                   : printable(health.findings.front().evidence.front().shown());
  row.health = own(text, style);
  row.health_paint = health_paint(health.state);
}

Paint heat_paint(const Device& device) {
  const Heat heat = heat_of(device).value_or(Heat::normal);
  return heat == Heat::hot ? Paint::red : heat == Heat::warm ? Paint::yellow : Paint::plain;
}

/// Empty: it has readings.
std::string why_no_readings(const Device& device) {
  if (!device.unusable_because.empty()) return printable(device.unusable_because.shown());
  return device.lost ? std::string(tr("no longer answers the driver")) : std::string();
}

}  // namespace

std::string_view state_word(DeviceState state) {
  switch (state) {
    case DeviceState::free:
      return tr("free");
    case DeviceState::reserved:
      return tr("reserved");
    case DeviceState::leased:
      return tr("leased");
    case DeviceState::busy:
      return tr("busy");
    case DeviceState::held:
      return tr("held");
    case DeviceState::unknown:
      return tr("unknown");
    case DeviceState::failed:
      return health_word(HealthState::failed);
    case DeviceState::divided:
      return tr("divided");
    case DeviceState::lost:
      return tr("lost");
    case DeviceState::unusable:
      return tr("unusable");
  }
  return tr("unusable");
}

Paint state_paint(DeviceState state) {
  switch (state) {
    case DeviceState::free:
      return Paint::green;
    case DeviceState::leased:
      return Paint::blue;
    case DeviceState::reserved:
    case DeviceState::busy:
    case DeviceState::held:
    case DeviceState::unknown:
      return Paint::yellow;
    case DeviceState::divided:
      return Paint::plain;
    case DeviceState::failed:
    case DeviceState::lost:
      return Paint::red;
    case DeviceState::unusable:
      return Paint::dim;
  }
  return Paint::plain;
}

Wanted wanted_by_status() {
  using D = Device;
  Wanted wanted;
  for (const Extra extra :
       {Extra::driver_version, Extra::runtime_version, Extra::library_version,
        Extra::excluded_devices, Extra::host, Extra::devices, Extra::other_devices,
        Extra::instances, Extra::verdicts, Extra::processes, Extra::process_names,
        Extra::process_owners, Extra::enclosures, Extra::leases}) {
    wanted.add(extra);
  }
  wanted
      .add<&D::name, &D::minor_number, &D::utilization_gpu, &D::utilization_history,
           &D::memory_used, &D::memory_total, &D::memory_free, &D::memory_reserved, &D::power_draw,
           &D::power_limit, &D::clock_sm, &D::fan_speed, &D::compute_mode, &D::ecc_uncorrected,
           &D::pcie_generation, &D::pcie_generation_max, &D::pcie_width, &D::pcie_width_max>();
  return wanted.add(wanted_by_heat()).add(Detail::ecc_sram_threshold_exceeded);
}

DeviceRow device_row(const Device& device, const SnapshotIndex& index, const std::string& users,
                     const Style& style) {
  DeviceRow row;
  row.device = &device;
  row.state = state_of(device, index);
  const std::vector<Device>& all = index.snapshot().devices;
  row.divided = std::any_of(all.begin(), all.end(),
                            [&](const Device& other) { return other.parent == device.id; });
  const auto& used = device.memory_used.get();
  const auto& total = device.memory_total.get();
  if (used && total && total->count() > 0) {
    row.has_memory_share = true;
    row.memory_share = static_cast<double>(used->count()) / static_cast<double>(total->count());
  }
  row.reason = own(why_no_readings(device), style);
  add_health(device, index.snapshot(), style, row);
  row.cells.resize(column_count);
  row.cells[index_column] = device.parent  ? ""
                            : device.index ? std::to_string(*device.index)
                                           : std::string(absent_mark(style));
  row.cells[name_column] = short_name(device, style);
  row.cells[temperature_column] = {
      reading_text(device.temperature, style,
                   [&](Celsius c) { return temperature_text(c, style); }),
      heat_paint(device)};
  row.cells[utilization_column] = reading_text(device.utilization_gpu, style, percent_text);
  row.cells[bar_column] = {row.has_memory_share ? bar(row.memory_share, bar_wanted, style) : "",
                           Paint::dim};
  row.cells[memory_column] = memory_text(device, style);
  row.cells[power_column] = power_and_limit(device, style);
  row.cells[clock_column] = reading_text(device.clock_sm, style, clock_text);
  row.cells[pcie_column] = pcie_text(device, style);
  row.cells[fan_column] = reading_text(device.fan_speed, style, percent_text);
  row.cells[address_column] = reading_text(device.pci_address, style,
                                           [&](const std::string& a) { return outside(a, style); });
  const auto& mode = device.partition_mode.get();
  const std::string how = mode ? outside(mode->substr(0, mode->find(' ')), style) : "MIG";
  row.cells[state_column] = {row.divided ? how : own(state_word(row.state), style),
                             row.divided ? Paint::plain : state_paint(row.state)};
  row.cells[users_column] = users;
  return row;
}

/// The rows by which columns are measured: where a reason stands, there are no readings.
std::vector<TableRow> measured_rows(const std::vector<DeviceRow>& rows) {
  std::vector<TableRow> measured;
  for (const DeviceRow& row : rows) {
    measured.push_back(row.cells);
    if (row.reason.empty()) continue;
    for (std::size_t at = name_column + 1; at < state_column; ++at) measured.back()[at] = {};
  }
  return measured;
}

DeviceColumns::DeviceColumns(const std::vector<DeviceRow>& rows, int width, const Style& style)
    : style_(style), table_(columns, measured_rows(rows), 1, style, width) {}

int DeviceColumns::width() const {
  int width = 0;
  for (const int column : table_.widths()) width += column > 0 ? column + 1 : 0;
  return width;
}

int DeviceColumns::reason_room() const {
  int room = -1;
  for (std::size_t column = name_column + 1; column < state_column; ++column) {
    if (table_.widths()[column] > 0) room += table_.widths()[column] + 1;
  }
  return room;
}

void DeviceColumns::add(Line& line, const DeviceRow& row) const {
  if (row.reason.empty()) {
    TableRow cells = row.cells;
    if (row.has_memory_share) {
      cells[bar_column].text = bar(row.memory_share, table_.widths()[bar_column], style_);
    }
    table_.add_to(line, cells);
    return;
  }
  const int room = reason_room();
  table_.add_to(line, row.cells, 0, name_column + 1);
  if (room > 0) line.cell(row.reason, room, Align::left, Paint::dim).add(" ");
  table_.add_to(line, row.cells, state_column, column_count);
}

}  // namespace berth
