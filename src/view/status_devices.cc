// The devices' columns: what is shown of each, and what goes first when the terminal is narrow.

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/tr.h"
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

struct ColumnFacts {
  std::string_view header;  // through tr(); the same words as in snapshot/fields.cc where it can be
  Align align;
  int minimum;
  int drop_order;
};

constexpr std::array<ColumnFacts, column_count> columns = {{
    {"GPU", Align::right, 1, 0},
    {"Name", Align::left, 8, 0},
    {"Temp", Align::right, 4, 4},
    {"Util", Align::right, 4, 0},
    {"", Align::left, 6, 6},
    {"Memory", Align::right, 9, 0},
    {"Power", Align::right, 8, 5},
    {"Clock", Align::right, 7, 13},
    {"PCIe", Align::right, 5, 12},
    {"Fan", Align::right, 4, 11},
    {"PCI address", Align::left, 10, 14},
    {"State", Align::left, 6, 0},
    {"Users", Align::left, 5, 3},
}};

constexpr int bar_wanted = 10;

bool is_empty_or_absent(const std::string& cell) {
  return cell.empty() || cell == "–" || cell == "-";
}

/// "NVIDIA GeForce RTX 3090" → "RTX 3090"; a MIG instance's is what comes after its parent's.
std::string short_name(const Device& device, const Style& style) {
  std::string name =
      reading_text(device.name, style, [&](const std::string& n) { return outside(n, style); });
  const std::size_t slice = name.find("MIG ");
  if (device.parent && slice != std::string::npos) name.erase(0, slice);
  for (const std::string_view prefix : {"NVIDIA ", "GeForce "}) {
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
  }
  if (device.parent) name.insert(0, style.utf8 ? "└ " : "- ");
  return name;
}

std::string memory_text(const Device& device, const Style& style) {
  const auto& used = device.memory_used.get();
  const auto& total = device.memory_total.get();
  if (used && total) return bytes_of_total(*used, *total);
  if (!used && !total) return std::string(absent_mark(style));
  return reading_text(device.memory_used, style, bytes_short) + "/" +
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

std::string pcie_text(const Device& device, const Style& style) {
  if (!device.pcie_generation.get() || !device.pcie_width.get()) {
    return std::string(absent_mark(style));
  }
  return fmt::format("{}x{}", *device.pcie_generation.get(), *device.pcie_width.get());
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
  if (!device.unusable_because.empty()) return printable(tr_composed(device.unusable_because));
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
       {Extra::driver_version, Extra::cuda_version, Extra::library_version, Extra::excluded_devices,
        Extra::host, Extra::devices, Extra::other_devices, Extra::instances, Extra::verdicts,
        Extra::processes, Extra::process_names, Extra::process_owners, Extra::enclosures,
        Extra::leases}) {
    wanted.add(extra);
  }
  wanted.add<&D::name, &D::minor_number, &D::temperature, &D::temperature_slowdown,
             &D::utilization_gpu, &D::utilization_history, &D::memory_used, &D::memory_total,
             &D::memory_free, &D::memory_reserved, &D::power_draw, &D::power_limit, &D::clock_sm,
             &D::fan_speed, &D::compute_mode, &D::throttle_reasons, &D::ecc_uncorrected,
             &D::pcie_generation, &D::pcie_generation_max, &D::pcie_width, &D::pcie_width_max>();
  wanted.add(Detail::temperature_limit_margin).add(Detail::temperature_slowdown_margin);
  return wanted.add(Detail::ecc_sram_threshold_exceeded);
}

DeviceRow device_row(const Device& device, const SnapshotIndex& index, const std::string& users,
                     const Style& style) {
  DeviceRow row;
  row.device = &device;
  row.state = state_of(device, index);
  const std::vector<Device>& all = index.snapshot().devices;
  row.divided = std::any_of(all.begin(), all.end(),
                            [&](const Device& other) { return other.parent == device.id; });
  row.heat_paint = heat_paint(device);
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
  row.cells[temperature_column] = reading_text(
      device.temperature, style, [&](Celsius c) { return temperature_text(c, style); });
  row.cells[utilization_column] = reading_text(device.utilization_gpu, style, percent_text);
  row.cells[bar_column] = row.has_memory_share ? bar(row.memory_share, bar_wanted, style) : "";
  row.cells[memory_column] = memory_text(device, style);
  row.cells[power_column] = power_and_limit(device, style);
  row.cells[clock_column] = reading_text(device.clock_sm, style, clock_text);
  row.cells[pcie_column] = pcie_text(device, style);
  row.cells[fan_column] = reading_text(device.fan_speed, style, percent_text);
  row.cells[address_column] = reading_text(device.pci_address, style,
                                           [&](const std::string& a) { return outside(a, style); });
  row.cells[state_column] = row.divided ? "MIG" : own(state_word(row.state), style);
  row.cells[users_column] = users;
  return row;
}

DeviceColumns::DeviceColumns(const std::vector<DeviceRow>& rows, int width, const Style& style)
    : style_(style) {
  std::vector<ColumnWidth> wishes;
  for (std::size_t column = 0; column < column_count; ++column) {
    const std::string header = own(tr(columns[column].header), style);
    ColumnWidth wish{display_width(header), columns[column].minimum, columns[column].drop_order};
    bool has_something = false;
    for (const DeviceRow& row : rows) {
      if (!row.reason.empty() && column > name_column && column < state_column) continue;
      wish.wanted = std::max(wish.wanted, display_width(row.cells[column]));
      has_something = has_something || !is_empty_or_absent(row.cells[column]);
    }
    const bool may_go = columns[column].drop_order >= ColumnWidth::luxury || column == users_column;
    if (!has_something && may_go) wish.wanted = 0;
    // A number cut in half is a wrong number: these go whole or stay whole.
    const bool is_number = columns[column].align == Align::right || column == state_column;
    if (is_number) wish.minimum = wish.wanted;
    wishes.push_back(wish);
  }
  widths_ = fitted(wishes, width, 1);
}

int DeviceColumns::width() const {
  int width = 0;
  for (const int column : widths_) width += column > 0 ? column + 1 : 0;
  return width;
}

std::string DeviceColumns::header() const {
  Line line(style_);
  for (std::size_t column = 0; column < column_count; ++column) {
    if (widths_[column] == 0) continue;
    line.cell(own(tr(columns[column].header), style_), widths_[column], columns[column].align,
              Paint::dim);
    line.add(" ");
  }
  return line.text();
}

int DeviceColumns::reason_room() const {
  int room = -1;
  for (std::size_t column = name_column + 1; column < state_column; ++column) {
    if (widths_[column] > 0) room += widths_[column] + 1;
  }
  return room;
}

void DeviceColumns::add_reason(Line& line, const DeviceRow& row) const {
  const int room = reason_room();
  if (room > 0) line.cell(row.reason, room, Align::left, Paint::dim).add(" ");
}

void DeviceColumns::add(Line& line, const DeviceRow& row) const {
  for (std::size_t column = 0; column < column_count; ++column) {
    if (!row.reason.empty() && column == name_column + 1) {
      add_reason(line, row);
      column = state_column;
    }
    const int width = widths_[column];
    if (width == 0) continue;
    Paint paint = Paint::plain;
    std::string text = row.cells[column];
    if (column == bar_column && row.has_memory_share) text = bar(row.memory_share, width, style_);
    if (column == bar_column) paint = Paint::dim;
    if (column == temperature_column) paint = row.heat_paint;
    if (column == state_column) paint = row.divided ? Paint::plain : state_paint(row.state);
    line.cell(text, width, columns[column].align, paint).add(" ");
  }
}

}  // namespace berth
