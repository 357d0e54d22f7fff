// --help-query-…: the names of each selective query, in our own words.

#include <fmt/format.h>

#include <array>
#include <utility>

#include "smi/csv.h"

namespace berth::smi {

namespace {

using What = SmiRequest::What;

constexpr auto queries = std::to_array<std::pair<std::string_view, What>>({
    {"gpu", What::query_gpu},
    {"compute-apps", What::query_compute_apps},
    {"accounted-apps", What::query_accounted_apps},
    {"retired-pages", What::query_retired_pages},
    {"remapped-rows", What::query_remapped_rows},
    {"supported-clocks", What::query_supported_clocks},
});

std::string entry(std::string_view name, std::string_view alias, std::string_view help) {
  std::string text = fmt::format("\"{}\"", name);
  if (!alias.empty()) text += fmt::format(" or \"{}\"", alias);
  return fmt::format("{}\n{}\n\n", text, help);
}

std::string gpu_entries() {
  std::string text;
  for (const CsvField& column : csv_rows::gpu_fields) {
    const Field* field = find_field(column.name);
    text += entry(column.name, column.alias,
                  field == nullptr ? std::string_view("Deprecated; it says so.") : field->help);
  }
  text += "And what nvidia-smi does not have:\n\n";
  for (const Field& field : fields()) {
    if (field.smi.empty()) text += entry(field.key, "", field.help);
  }
  return text;
}

}  // namespace

Output help_query(std::string_view what) {
  for (const auto& [name, query] : queries) {
    if (name != what) continue;
    std::string text =
        fmt::format("List of valid properties to query for the switch \"--query-{}\":\n\n", name);
    if (query == What::query_gpu) text += gpu_entries();
    for (const ListColumn& column : list_columns(query)) {
      text += entry(column.name, column.alias, column.help);
    }
    return {.text = std::move(text)};
  }
  return {.text = "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n",
          .code = 2};
}

}  // namespace berth::smi
