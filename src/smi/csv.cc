#include "smi/csv.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "smi/calendar.h"
#include "smi/facts.h"
#include "smi/generation.h"
#include "smi/refusal.h"

namespace berth::smi {

namespace {

/// The unit that berth's name of a field says and that nvidia-smi never writes; empty: none.
std::string_view unit_in_key(Unit unit) {
  switch (unit) {
    case Unit::bytes:
      return "B";
    case Unit::bytes_per_second:
      return "B/s";
    case Unit::milliwatts:
      return "mW";
    case Unit::millijoules:
      return "mJ";
    case Unit::milliseconds:
      return "ms";
    case Unit::millivolts:
      return "mV";
    case Unit::none:
    case Unit::count:
    case Unit::bits:
    case Unit::percent:
    case Unit::celsius:
    case Unit::megahertz:
    case Unit::microseconds:
    case Unit::seconds:
      return "";
  }
  return "";
}

/// How a field that only berth has is written: in the unit of its name.
Format format_for(Unit unit) {
  switch (unit) {
    case Unit::percent:
      return Format::percent;
    case Unit::celsius:
      return Format::celsius;
    case Unit::megahertz:
      return Format::megahertz;
    case Unit::microseconds:
      return Format::microseconds;
    case Unit::seconds:
      return Format::seconds;
    case Unit::none:
    case Unit::count:
    case Unit::bits:
    case Unit::bytes:
    case Unit::bytes_per_second:
    case Unit::milliwatts:
    case Unit::millijoules:
    case Unit::milliseconds:
    case Unit::millivolts:
      return Format::number;
  }
  return Format::text;
}

std::string cell_text(const GpuColumn& column, const Device& device, const Snapshot& snapshot,
                      Surface surface, Clockface clockface) {
  const CsvField& written = column.column;
  if (!column.field || is_deprecated(column, driver_of(snapshot))) {
    return "[" + std::string(deprecated_text) + "]";
  }
  const Cell cell = column.field->read(device, snapshot);
  if (cell.get()) {
    if (written.name == "timestamp") {
      return date_with_milliseconds(snapshot.taken.unix_ms, clockface.utc_offset);
    }
    const std::string value = printable(shown(*cell.get(), written.format, surface));
    if (column.own_unit.empty() || surface == Surface::csv_without_units) return value;
    return fmt::format("{} {}", value, column.own_unit);
  }
  const bool nothing = cell.why() == Absent::unsupported || cell.why() == Absent::not_sampled;
  if (nothing && written.absent && driver_of(snapshot).branch >= written.absent_from)
    return std::string(*written.absent);
  return shown_absent(cell.why(), failure_on(device), surface);
}

/// What a column is headed by. An earlier driver does not know 535's names for the reasons that
/// hold clocks back. How later drivers head the old names is not known.
std::string_view heading_of(const CsvField& written, std::string_view asked,
                            const Generation& generation) {
  const bool old = !generation.calls_them_events && asked.starts_with("clocks_throttle_reasons.");
  return old ? asked : written.name;
}

Output render_gpu_csv(const Snapshot& snapshot, const SmiRequest& request, Clockface clockface) {
  std::vector<GpuColumn> columns;
  std::vector<std::string> names;
  for (const std::string& name : request.fields) {
    const auto column = find_gpu_column(name);
    if (!column) return unknown_field(name);
    const CsvField& written = column->column;
    names.push_back(csv_heading(heading_of(written, name, generation_of(snapshot)),
                                written.unit.empty() ? unit_of(written.format) : written.unit));
    columns.push_back(*column);
  }
  const Surface surface = request.units ? Surface::csv : Surface::csv_without_units;
  std::string text = request.header ? csv_line(names) : "";
  for (const Device* device : gpus(snapshot, request.devices)) {
    std::vector<std::string> cells;
    for (const GpuColumn& column : columns) {
      cells.push_back(cell_text(column, *device, snapshot, surface, clockface));
    }
    text += csv_line(cells);
  }
  return {.text = std::move(text)};
}

}  // namespace

std::string csv_heading(std::string_view name, std::string_view unit) {
  return unit.empty() ? std::string(name) : fmt::format("{} [{}]", name, unit);
}

std::string csv_line(const std::vector<std::string>& cells) { return joined(cells, ", ") + "\n"; }

Output unknown_field(std::string_view name) {
  std::string text =
      fmt::format("Field \"{}\" is not a valid field to query.\n\n", printable(name));
  if (const auto mistake = typographic_mistake(name)) {
    text += fmt::format("\"{}\" was typed as \"{}\"; did you mean {}?\n", printable(name),
                        printable(mistake->found), printable(mistake->corrected));
  }
  return {.text = std::move(text), .code = bad_argument};
}

bool is_deprecated(const GpuColumn& column, DriverNumber driver) {
  // What only berth has a name for is told as long as the driver answers.
  return column.field != nullptr && !column.field->smi.empty() &&
         is_deprecated(column.field->key, driver);
}

std::optional<GpuColumn> find_gpu_column(std::string_view name) {
  for (const CsvField& column : csv_rows::gpu_fields) {
    const bool throttle = name.starts_with("clocks_throttle_reasons.") &&
                          column.name.starts_with("clocks_event_reasons.") &&
                          name.substr(name.find('.')) == column.name.substr(column.name.find('.'));
    if (column.name == name || (!column.alias.empty() && column.alias == name) || throttle) {
      return GpuColumn{column, find_field(column.name)};
    }
  }
  const Field* field = find_field(name);
  if (field == nullptr) return std::nullopt;
  const std::string_view own_unit = field->key == name ? unit_in_key(field->unit) : "";
  // An alias of a column that nvidia-smi has ("clocks.current.gr"), or berth's own.
  if (!field->smi.empty() && field->smi != name && own_unit.empty()) {
    if (auto known = find_gpu_column(field->smi)) return known;
  }
  return GpuColumn{
      smi::field(field->key == name ? field->key : name, format_for(field->unit)).headed(own_unit),
      field, own_unit};
}

Output render_csv(const Snapshot& snapshot, const SmiRequest& request, Clockface clockface) {
  return request.what == SmiRequest::What::query_gpu
             ? render_gpu_csv(snapshot, request, clockface)
             : render_list_csv(snapshot, request, clockface);
}

}  // namespace berth::smi
