#include "view/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "base/letters_apart.h"
#include "base/text.h"
#include "base/tr.h"
#include "view/table.h"

namespace berth {

namespace {

std::string cell_text(const Cell& cell) {
  if (!cell.get()) return "";
  return std::visit(
      [](const auto& value) -> std::string {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, bool>) {
          return value ? "true" : "false";
        } else {
          return fmt::format("{}", value);
        }
      },
      *cell.get());
}

/// The three names most like what was typed: those that contain it first, then by distance.
std::string near_matches(std::string_view typed) {
  std::vector<std::pair<std::size_t, std::string_view>> ranked;
  const auto rank = [&](std::string_view name) {
    if (name.empty()) return;
    const bool contains = typed.size() >= 3 && name.find(typed) != std::string_view::npos;
    ranked.emplace_back(contains ? 0 : 1 + letters_apart(typed.substr(0, 64), name), name);
  };
  for (const Field& field : fields()) {
    rank(field.key);
    if (field.smi != field.key) rank(field.smi);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, ranked.size()); ++i) {
    text += (i > 0 ? ", " : "") + std::string(ranked[i].second);
  }
  return text;
}

}  // namespace

std::string csv_quoted(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string_view name_of(Unit unit) {
  switch (unit) {
    case Unit::none:
      return "";
    case Unit::count:
      return "count";
    case Unit::bytes:
      return "bytes";
    case Unit::bytes_per_second:
      return "bytes/s";
    case Unit::percent:
      return "percent";
    case Unit::celsius:
      return "celsius";
    case Unit::milliwatts:
      return "milliwatts";
    case Unit::millijoules:
      return "millijoules";
    case Unit::megahertz:
      return "megahertz";
    case Unit::bits:
      return "bits";
    case Unit::microseconds:
      return "microseconds";
    case Unit::milliseconds:
      return "milliseconds";
    case Unit::seconds:
      return "seconds";
    case Unit::millivolts:
      return "millivolts";
  }
  return "";
}

Result<std::vector<const Field*>> parse_field_list(std::string_view list) {
  std::vector<const Field*> columns;
  for (const std::string_view part : split(list, ',')) {
    const std::string_view name = trimmed(part);
    if (const Field* field = find_field(name)) {
      columns.push_back(field);
      continue;
    }
    if (name.empty()) {
      return fail(ErrorCode::invalid,
                  "an empty field in the list; write for example index,name,memory_used_bytes (all "
                  "of them: berth --fields)");
    }
    if (const auto mistake = typographic_mistake(name)) {
      return fail(ErrorCode::invalid, "\"{}\" has the character \"{}\" in it; did you mean {}?",
                  printable(name), mistake->found, printable(without_quotes(mistake->corrected)));
    }
    return fail(ErrorCode::invalid,
                "there is no field \"{}\"; near it: {} (all of them: berth --fields)",
                printable(name), near_matches(name));
  }
  return columns;
}

std::string render_csv(const Snapshot& snapshot, std::span<const Field* const> columns) {
  std::string text;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    text += (i > 0 ? "," : "") + std::string(columns[i]->key);
  }
  text += "\n";
  for (const Device& device : snapshot.devices) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) text += ',';
      text += csv_quoted(printable(cell_text(columns[i]->read(device, snapshot))));
    }
    text += "\n";
  }
  return text;
}

std::string render_fields(const Style& style) {
  // A field's name is there to be copied: never cut.
  static constexpr auto columns = std::to_array<TableColumn>(
      {{.header = as_key("Field")},
       {.header = as_key("Unit"), .drop_order = 2},
       {.header = "nvidia-smi", .drop_order = 3},
       {.header = as_key("What it is"), .minimum = 16, .drop_order = 1}});
  std::vector<TableRow> rows;
  for (const Field& field : fields()) {
    rows.push_back({std::string(field.key), std::string(name_of(field.unit)),
                    std::string(field.smi), own(tr(field.help), style)});
  }
  return Table(columns, std::move(rows), 2, style).text();
}

std::string render_metrics_markdown() {
  std::string text =
      "# Fields and metrics\n\n"
      "Generated from the field table (src/snapshot/fields.cc); `berth --fields` prints it without "
      "the metrics.\n"
      "The key is the name in JSON and CSV and says the unit; `berth --csv` takes nvidia-smi's\n"
      "name too. The metric is the name that Prometheus is served, in base units: ratios from 0 "
      "to\n"
      "1, watts, joules, hertz, seconds; a yes is 1, a no 0.\n"
      "A reading that a device does not have is `null` in JSON (the reason stands beside it under\n"
      "`why`), an empty cell in CSV, and no sample at all as a metric.\n\n"
      "| Key | Unit | nvidia-smi | Metric | What it is |\n"
      "|---|---|---|---|---|\n";
  const auto code = [](std::string_view name) {
    return name.empty() ? std::string() : "`" + std::string(name) + "`";
  };
  for (const Field& field : fields()) {
    text += fmt::format("| {} | {} | {} | {} | {} |\n", code(field.key), name_of(field.unit),
                        code(field.smi), code(field.metric), field.help);
  }
  return text;
}

}  // namespace berth
