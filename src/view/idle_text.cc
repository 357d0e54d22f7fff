
#include <array>

#include "base/json_archive.h"
#include "base/text.h"
#include "base/tr.h"
#include "snapshot/device_name.h"
#include "view/idle_list.h"
#include "view/paint.h"
#include "view/table.h"
#include "view/values.h"

namespace berth {

namespace {

constexpr auto idle_columns = std::to_array<TableColumn>({
    {.header = "GPU", .minimum = 3},
    {.header = as_key("User"), .minimum = 6},
    {.header = as_key("What"), .minimum = 31},
    {.header = as_key("Holds"), .drop_order = 2},
    {.header = as_key("Since")},
    {.header = as_key("Known by"), .drop_order = 1},
    {.header = as_key("Run"), .minimum = 8, .drop_order = 3, .when_empty = WhenEmpty::goes},
});

std::string what_text(const IdleRow& row) {
  switch (row.kind) {
    case IdleKind::lease:
      return std::string(tr("leased, computes nothing"));
    case IdleKind::memory:
      return std::string(tr("memory held without a lease, computes nothing"));
    case IdleKind::low_load:
      return trf("leased, {} busy in the last hour",
                 percent_text(row.mean_load.value_or(Percent{0})));
    case IdleKind::ended:
      return trf("process {} has ended and still holds memory", row.pid.value_or(0));
    case IdleKind::nobody:
      return std::string(tr("memory that no process explains"));
    case IdleKind::orphan:
      return row.has_no_terminal
                 ? trf("process {} has neither parent nor terminal", row.pid.value_or(0))
                 : trf("process {} has lost its parent", row.pid.value_or(0));
  }
  return {};
}

std::string_view sure_text(IdleSure sure) {
  switch (sure) {
    case IdleSure::measured:
      return tr("the history");
    case IdleSure::seen:
      return tr("this look alone");
    case IdleSure::perhaps:
      return tr("a guess");
  }
  return {};
}

std::string users_text(const IdleRow& row) { return joined(row.users, ", "); }

}  // namespace

std::string idle_lease_lines(const std::vector<IdleRow>& rows, const Snapshot& snapshot,
                             const Style& style) {
  std::string text;
  for (const IdleRow& row : rows) {
    if (row.kind != IdleKind::lease || row.sure != IdleSure::measured) continue;
    const std::string line =
        trf("GPU {} is held by {}, and nothing was computed on it for {}.",
            index_or_id(*row.device), users_text(row), age_text(*row.since, snapshot.taken));
    text += wrapped("", outside(line, style), 2, style, Paint::dim);
  }
  return text;
}

std::string render_idle(const std::vector<IdleRow>& rows, const IdleEvidence& evidence,
                        const Snapshot& snapshot, const Style& style) {
  std::string text = simulated_line(snapshot.simulated, style);
  std::vector<TableRow> cells;
  for (const IdleRow& row : rows) {
    cells.push_back(
        {outside(index_or_id(*row.device), style), outside(users_text(row), style),
         own(what_text(row), style),
         row.held ? bytes_text(*row.held) : std::string(absent_mark(style)),
         row.since ? age_text(*row.since, snapshot.taken) : std::string(absent_mark(style)),
         own(sure_text(row.sure), style), outside(row.run, style)});
  }
  text += rows.empty() ? wrapped("", own(tr("Nothing here is held idle."), style), 0, style)
                       : Table(idle_columns, std::move(cells), 2, style).text();
  if (!evidence.why_none.empty()) {
    text += wrapped(
        "",
        own(trf("Since when is not known without a history: {}", evidence.why_none.shown()), style),
        2, style, Paint::dim);
  }
  return text;
}

void write_idle_row(Archive& archive, const IdleRow& row) {
  archive.derived("kind", name_of(row.kind));
  archive.derived("sure", name_of(row.sure));
  archive.derived("device", row.device->id);
  archive.derived("index", row.device->index);
  archive.derived("users", row.users);
  archive.derived("lease", row.lease);
  archive.derived("run", row.run);
  archive.derived("pid", row.pid);
  archive.derived("memory_held_bytes", row.held);
  archive.derived("since_unix_ms", row.since);
  archive.derived("mean_load_percent", row.mean_load);
}

std::string idle_json(const std::vector<IdleRow>& rows, const IdleEvidence& evidence,
                      const Snapshot& snapshot) {
  return write_json(JsonLayout::indented,
                    [&](Archive& archive) {
                      archive.derived("berth_idle", 1);
                      archive.derived("taken_unix_ms", snapshot.taken);
                      archive.derived("simulated", snapshot.simulated);
                      archive.derived("why_no_history", evidence.why_none, Form::nullable);
                      archive.derived_list(
                          "idle", rows, [&](const IdleRow& row) { write_idle_row(archive, row); });
                    }) +
         "\n";
}

}  // namespace berth
