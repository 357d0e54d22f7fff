#include "view/leases_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/json_archive.h"
#include "base/text.h"
#include "base/tr.h"
#include "snapshot/questions.h"
#include "snapshot/walk.h"
#include "view/table.h"
#include "view/values.h"

namespace berth {

namespace {

constexpr auto lease_columns = std::to_array<TableColumn>({
    {.header = "GPU", .minimum = 3},
    {.header = as_key("User"), .minimum = 6},
    {.header = as_key("Promised"), .minimum = 8, .drop_order = 2},
    {.header = as_key("Since"), .drop_order = 1},  // half a time is a wrong time
    {.header = as_key("Ends"), .drop_order = 2, .when_empty = WhenEmpty::goes},
    {.header = as_key("Run"), .minimum = 8, .drop_order = 3, .when_empty = WhenEmpty::goes},
    {.header = as_key("Command"), .minimum = 8},
});

constexpr auto waiter_columns = std::to_array<TableColumn>({
    {.header = as_key("Place"), .minimum = 3},
    {.header = as_key("User"), .minimum = 6},
    {.header = as_key("Wants"), .minimum = 8, .drop_order = 2},
    {.header = as_key("Waited"), .drop_order = 1},
    {.header = as_key("Reserved GPUs"),
     .minimum = 8,
     .drop_order = 4,
     .when_empty = WhenEmpty::goes},
    {.header = as_key("Run"), .minimum = 8, .drop_order = 3, .when_empty = WhenEmpty::goes},
    {.header = as_key("Command"), .minimum = 8, .when_empty = WhenEmpty::goes},
});

std::string device_text(const DeviceId& id, const Snapshot& snapshot, const Style& style) {
  const Device* device = find_device(id, snapshot);
  if (device != nullptr && device->index && !device->parent) return std::to_string(*device->index);
  return cut_to_width(outside(id.text(), style), 12, !style.utf8);
}

std::string devices_text(const std::vector<ClaimedDevice>& devices, const Snapshot& snapshot,
                         const Style& style) {
  return joined(devices, ",", [&](const ClaimedDevice& part) {
    return device_text(part.device, snapshot, style);
  });
}

/// "whole", "10.0 GiB (watchdog)" with what holds it there, or "mixed" where the devices differ.
std::string promised_text(const Claim& claim, const Style& style) {
  if (claim.devices.empty()) return std::string(absent_mark(style));
  const auto& first = claim.devices.front().promised;
  const bool same = std::all_of(claim.devices.begin(), claim.devices.end(),
                                [&](const ClaimedDevice& part) { return part.promised == first; });
  if (!same) return own(tr("mixed"), style);
  if (!first) return own(tr("whole"), style);
  return bytes_text(*first) +
         (claim.held_by ? fmt::format(" ({})", word_of(*claim.held_by)) : std::string());
}

TableRow claim_cells(const Claim& claim, const Snapshot& snapshot, const Style& style) {
  const bool dated = claim.since.unix_ms > 0;
  return {
      devices_text(claim.devices, snapshot, style),
      outside(claim.user, style),
      promised_text(claim, style),
      dated ? since_text(claim.since, snapshot.taken, style) : std::string(absent_mark(style)),
      claim.ends ? since_text(*claim.ends, snapshot.taken, style) : std::string(),
      outside(claim.run, style),
      claim.parsed ? outside(claim.command, style) : own(tr("(lease in a newer format)"), style)};
}

TableRow waiter_cells(const Waiter& waiter, std::size_t place, const Snapshot& snapshot,
                      const Style& style) {
  const std::string reserved = waiter.stuck ? own(tr("does not answer, passed over"), style)
                                            : devices_text(waiter.reserved, snapshot, style);
  return {std::to_string(place),
          outside(waiter.user, style),
          outside(waiter.wants, style),
          age_text(waiter.since, snapshot.taken),
          reserved,
          waiter.run.empty() ? std::string(absent_mark(style)) : outside(waiter.run, style),
          outside(waiter.command, style)};
}

/// Whose leases can be seen here at all: an empty list means different things.
std::string scope_text(const std::optional<LedgerPlace>& place, const Style& style) {
  std::string text(tr("From the recording: nothing here is of this machine's ledger."));
  if (!place) return wrapped("", own(text, style), 2, style, Paint::dim);
  switch (place->kind) {
    case LedgerPlace::Kind::shared:
      text = trf("Ledger {}, shared by everybody on this machine.", printable(place->directory));
      break;
    case LedgerPlace::Kind::own:
      text =
          trf("Ledger {}, yours alone: leases of others are not seen. `sudo berth setup` makes "
              "one for everybody.",
              printable(place->directory));
      break;
    case LedgerPlace::Kind::named:
      text = place->within.empty()
                 ? trf("Ledger {} ({}).", printable(place->directory), printable(place->named_by))
                 : trf("Ledger {} ({}), its part for this simulated server.",
                       printable(place->within), printable(place->named_by));
      break;
  }
  return wrapped("", own(text, style), 2, style, Paint::dim);
}

}  // namespace

std::string render_leases(const Snapshot& snapshot, const std::optional<LedgerPlace>& place,
                          const Style& style) {
  std::string text = simulated_line(snapshot.simulated, style);
  if (snapshot.claims.empty()) {
    text += wrapped(
        "", own(place ? tr("Nobody holds a lease.") : tr("The recording holds no leases."), style),
        0, style);
  } else {
    std::vector<TableRow> rows;
    for (const Claim& claim : snapshot.claims) rows.push_back(claim_cells(claim, snapshot, style));
    text += Table(lease_columns, std::move(rows), 2, style).text();
  }
  if (!snapshot.waiters.empty()) {
    std::vector<TableRow> rows;
    for (const Waiter& waiter : snapshot.waiters) {
      rows.push_back(waiter_cells(waiter, rows.size() + 1, snapshot, style));
    }
    text += "\n" + Table(waiter_columns, std::move(rows), 2, style).text();
  }
  text += scope_text(place, style);
  for (const Problem& problem : snapshot.problems) {
    if (problem.source != "ledger") continue;
    text += warning_line(outside(problem.message.shown(), style), style);
    if (problem.remedy.empty()) continue;
    text += advice_line(outside(problem.remedy.shown(), style), style);
  }
  return text;
}

// Leases and the queue for programs: the same objects under the same names as in a snapshot.

namespace {
std::string_view name_of(LedgerPlace::Kind kind) {
  switch (kind) {
    case LedgerPlace::Kind::shared:
      return "shared";
    case LedgerPlace::Kind::own:
      return "own";
    case LedgerPlace::Kind::named:
      return "named";
  }
  return "own";
}
}  // namespace

std::string leases_json(const Snapshot& snapshot, const std::optional<LedgerPlace>& place) {
  std::optional<std::string> directory;
  std::optional<std::string> kind;
  if (place) directory = place->directory;
  if (place) kind = std::string(name_of(place->kind));
  return write_json(JsonLayout::indented,
                    [&](Archive& archive) {
                      archive.derived("berth_leases", 1);
                      archive.derived("taken_unix_ms", snapshot.taken);
                      archive.derived("simulated", snapshot.simulated);
                      archive.derived("ledger", directory);
                      archive.derived("ledger_kind", kind);
                      archive.derived("leases", snapshot.claims);
                      archive.derived("queue", snapshot.waiters);
                    }) +
         "\n";
}

}  // namespace berth
