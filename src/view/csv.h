#pragma once
// Prints from the field table (snapshot/fields.h): `--csv FIELDS`, `--fields`, doc/METRICS.md.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "snapshot/fields.h"
#include "snapshot/snapshot.h"
#include "view/style.h"

namespace berth {

/// "index,memory_used_bytes,temperature.gpu": our keys or nvidia-smi's names, in this order.
/// invalid: an unknown one, with the nearest that exist; an empty list.
[[nodiscard]] Result<std::vector<const Field*>> parse_field_list(std::string_view list);

/// A cell of such a line.
[[nodiscard]] std::string csv_quoted(std::string_view text);

/// RFC 4180, but with LF as line end, so that shell loops work. The header line has our keys, as
/// these name the unit. So has a field that was asked for by nvidia-smi's name. One line per
/// device. An absent cell is empty. Bytes are as they are: this is for programs.
[[nodiscard]] std::string render_csv(const Snapshot& snapshot,
                                     std::span<const Field* const> columns);

/// Every field: key, unit, nvidia-smi's name, what it means.
[[nodiscard]] std::string render_fields(const Style& style);

/// doc/METRICS.md, generated; in English whatever the language.
[[nodiscard]] std::string render_metrics_markdown();

[[nodiscard]] std::string_view name_of(Unit unit);

}  // namespace berth
