// `berth usage` for people.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/tr.h"
#include "view/history_text.h"
#include "view/table.h"
#include "view/values.h"

namespace berth {

namespace {

std::string hours_text(double hours) {
  if (hours == 0) return "0";
  return hours < 0.05 ? std::string("<0.1") : fmt::format("{:.1f}", hours);
}

std::string key_text(const UsageRow& row, const UsageReport& report, const HistoryFacts& facts,
                     const Style& style) {
  switch (report.by) {
    case UsageBy::user:
      return row.key.empty() ? own(tr("(cannot be seen)"), style) : outside(row.key, style);
    case UsageBy::job:
      return row.key.empty() ? own(tr("(without a lease)"), style) : outside(row.key, style);
    case UsageBy::gpu:
      return device_word(facts, DeviceId(row.key), style);
    case UsageBy::day:
      return row.key;
  }
  return row.key;
}

std::string energy_of(const UsageRow& row, const Style& style) {
  if (!row.energy_joules) return std::string(absent_mark(style));
  const std::string least = row.energy_at_least ? (style.utf8 ? "≥ " : ">= ") : "";
  const auto millijoules = static_cast<std::uint64_t>(*row.energy_joules * 1000);
  return least + energy_text(Millijoules(millijoules)) + (row.energy_integrated ? " *" : "");
}

std::string_view key_title(UsageBy by) {
  switch (by) {
    case UsageBy::user:
      return tr("User");
    case UsageBy::job:
      return tr("Job");
    case UsageBy::gpu:
      return "GPU";
    case UsageBy::day:
      return tr("Day");
  }
  return "";
}

std::string notes_text(const UsageReport& report, const HistoryFacts& facts, WallTime now,
                       const Style& style) {
  std::string text;
  const auto note = [&](const std::string& what) {
    text += wrapped("", own(what, style), 2, style, Paint::dim);
  };
  if (report.knows_since && *report.knows_since > report.since) {
    note(trf("Known since {}: what was before is not in here.",
             date_time_text(*report.knows_since, style)));
  }
  if (report.unwatched_hours >= 0.05) {
    note(trf("For {} hours of device time nobody looked: they are in no column.",
             hours_text(report.unwatched_hours)));
  }
  if (facts.last_sample && now.unix_ms - facts.last_sample->unix_ms > 60'000) {
    note(trf("The last sample is of {}: is `berth serve` running?",
             date_time_text(*facts.last_sample, style)));
  }
  const bool any = std::any_of(report.rows.begin(), report.rows.end(),
                               [](const UsageRow& row) { return row.energy_integrated; });
  if (any) note(std::string("* ") + std::string(tr("energy from power, where a card counts none")));
  return text;
}

}  // namespace

std::string render_usage(const UsageReport& report, const HistoryFacts& facts,
                         const std::string& currency, WallTime now, const Style& style) {
  std::string text = simulated_line(facts, style);
  text += wrapped(
      "",
      own(trf("{} to {}", date_time_text(report.since, style), date_time_text(report.until, style)),
          style),
      2, style, Paint::dim);
  if (report.rows.empty()) {
    text += wrapped("", own(tr("Nobody used a device, as far as is known."), style), 2, style);
    return text + notes_text(report, facts, now, style);
  }
  double most = 0;
  for (const UsageRow& row : report.rows) most = std::max(most, row.gpu_hours);
  const std::string cost_title = currency.empty() ? std::string(tr("Cost")) : currency;
  constexpr TableColumn number{.align = Align::right, .when_empty = WhenEmpty::goes};
  const auto titled = [](TableColumn column, std::string_view header) {
    column.header = header;
    return column;
  };
  const std::array columns = {TableColumn{.header = key_title(report.by)},
                              TableColumn{.header = report.by == UsageBy::job ? as_key("User") : "",
                                          .when_empty = WhenEmpty::goes},
                              titled(number, as_key("GPU hours")),
                              TableColumn{},
                              titled(number, as_key("busy")),
                              titled(number, as_key("idle, held")),
                              titled(number, as_key("load unknown")),
                              titled(number, as_key("Energy")),
                              titled(number, cost_title),
                              titled(number, as_key("Waited")),
                              titled(number, as_key("Runs"))};
  std::vector<TableRow> rows;
  constexpr int bar_columns = 10;
  const bool any_unknown =
      std::any_of(report.rows.begin(), report.rows.end(),
                  [](const UsageRow& row) { return row.unknown_load_hours >= 0.005; });
  const bool any_waits = std::any_of(report.rows.begin(), report.rows.end(),
                                     [](const UsageRow& row) { return row.waits.value_or(0) > 0; });
  for (const UsageRow& row : report.rows) {
    rows.push_back(
        {key_text(row, report, facts, style),
         report.by == UsageBy::job ? outside(row.user, style) : "", hours_text(row.gpu_hours),
         bar(most > 0 ? row.gpu_hours / most : 0, bar_columns, style), hours_text(row.busy_hours),
         hours_text(row.idle_held_hours), any_unknown ? hours_text(row.unknown_load_hours) : "",
         energy_of(row, style), row.cost ? fmt::format("{:.2f}", *row.cost) : "",
         any_waits && row.waited_hours
             ? own(trf("{} h ({})", hours_text(*row.waited_hours), row.waits.value_or(0)), style)
             : "",
         row.runs ? std::to_string(*row.runs) : ""});
  }
  text += Table(columns, std::move(rows), 2, style).text();
  return text + notes_text(report, facts, now, style);
}

}  // namespace berth
