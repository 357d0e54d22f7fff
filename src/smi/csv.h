#pragma once
// The selective queries, as nvidia-smi writes them: a line of names, then one line per GPU,
// process, page or clock. Cells are separated by ", " and never quoted.

#include <string>
#include <string_view>
#include <vector>

#include "smi/csv_fields.h"
#include "smi/generation.h"
#include "smi/smi.h"
#include "snapshot/fields.h"

namespace berth::smi {

/// The unit of a column in [] behind its name, where it has one.
[[nodiscard]] std::string csv_heading(std::string_view name, std::string_view unit);
[[nodiscard]] std::string csv_line(const std::vector<std::string>& cells);

/// What nvidia-smi says of a field it does not have.
[[nodiscard]] Output unknown_field(std::string_view name);

/// A column of --query-gpu by its name or alias, or a field of berth's own table by its key. Cells
/// of the latter are written in the same manner, in the unit that the key names. Nothing: neither
/// knows it.
struct GpuColumn {
  CsvField column;
  const Field* field = nullptr;  // null: the column has no reading
  std::string_view own_unit{};   // of berth's own, behind each cell; empty: that of the format
};
[[nodiscard]] std::optional<GpuColumn> find_gpu_column(std::string_view name);
[[nodiscard]] bool is_deprecated(const GpuColumn& column, DriverNumber driver);

/// The queries that have a line per process, page or clock.
[[nodiscard]] Output render_list_csv(const Snapshot& snapshot, const SmiRequest& request,
                                     Clockface clockface);

/// The names of a list query with their aliases and what they are, for its help; empty: no such
/// query.
struct ListColumn {
  std::string_view name;
  std::string_view alias;
  Format format;
  std::string_view help;
};
[[nodiscard]] std::vector<ListColumn> list_columns(SmiRequest::What what);

}  // namespace berth::smi
