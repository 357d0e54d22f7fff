// HistoryReader's usage: the quarter hours that UsageMeter summed up, added by what is asked for.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <set>
#include <utility>

#include "record/history/database.h"
#include "record/history/reader.h"
#include "record/history/stored.h"
#include "record/history/usage_meter.h"

namespace berth {

using history::Database;
using history::ResultRow;
using history::Span;
using history::SpanKind;
using history::Transaction;
using history::usage_bucket_ms;
using history::Use;

namespace {

constexpr auto by_names = std::to_array<std::pair<UsageBy, std::string_view>>({
    {UsageBy::user, "user"},
    {UsageBy::job, "job"},
    {UsageBy::gpu, "gpu"},
    {UsageBy::day, "day"},
});

using RowKey = std::pair<std::string, std::string>;  // key, user
struct Gathered {
  Use use;
  std::uint64_t waits = 0;
  std::int64_t waited_ms = 0;
  std::set<std::string> runs;
  std::int64_t window_ms = 0;  // what could have been watched
};
using Table = std::map<RowKey, Gathered>;

double hours(std::int64_t milliseconds) { return static_cast<double>(milliseconds) / 3.6e6; }

std::string day_of(std::int64_t at_ms, const UsageQuery& query) {
  const std::time_t local = (at_ms + query.offset_at({at_ms}).count() * 1000) / 1000;
  std::tm parts{};
  if (::gmtime_r(&local, &parts) == nullptr) return "?";
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

/// Columns from `first` on: held, busy, idle, counted, integrated, energy_ms.
Use use_in(const ResultRow& row, int first) {
  return {.watched_ms = 0,
          .held_ms = row.integer(first),
          .busy_ms = row.integer(first + 1),
          .idle_ms = row.integer(first + 2),
          .counted_mj = row.integer(first + 3),
          .integrated_mj = row.integer(first + 4),
          .energy_ms = row.integer(first + 5)};
}

struct SpanPart {
  std::int64_t from_ms;
  std::int64_t to_ms;
};

/// The part of a span within the window; one that lasts goes to the last sample.
SpanPart within(const Span& span, const UsageReport& report, std::int64_t last_ms) {
  return {std::max(span.from_ms, report.since.unix_ms),
          std::min(span.to_ms.value_or(std::max(last_ms, span.from_ms)), report.until.unix_ms)};
}

void add_wait(Table& table, const Span& wait, const UsageReport& report, const UsageQuery& query,
              std::int64_t last_ms) {
  const auto part = within(wait, report, last_ms);
  if (query.by == UsageBy::user) {
    Gathered& row = table[{wait.user, ""}];
    ++row.waits;
    row.waited_ms += std::max<std::int64_t>(part.to_ms - part.from_ms, 0);
    return;
  }
  if (query.by != UsageBy::day) return;
  ++table[{day_of(part.from_ms, query), ""}].waits;
  for (std::int64_t at = part.from_ms; at < part.to_ms;) {
    const std::int64_t next =
        std::min(history::floor_to(at, usage_bucket_ms) + usage_bucket_ms, part.to_ms);
    table[{day_of(at, query), ""}].waited_ms += next - at;
    at = next;
  }
}

void add_run(Table& table, const Span& lease, const UsageReport& report, const UsageQuery& query) {
  const std::string& run = lease.run.empty() ? lease.key : lease.run;
  switch (query.by) {
    case UsageBy::user:
      table[{lease.user, ""}].runs.insert(run);
      return;
    case UsageBy::gpu:
      table[{lease.device.text(), ""}].runs.insert(run);
      return;
    case UsageBy::day:
      if (lease.from_ms >= report.since.unix_ms) {
        table[{day_of(lease.from_ms, query), ""}].runs.insert(run);
      }
      return;
    case UsageBy::job:
      return;
  }
}

UsageRow row_of(const RowKey& key, const Gathered& all, const UsageQuery& query) {
  const Use& use = all.use;
  UsageRow row{.key = key.first, .user = key.second};
  row.gpu_hours = hours(use.held_ms);
  row.busy_hours = hours(use.busy_ms);
  row.idle_held_hours = hours(use.idle_ms);
  row.unknown_load_hours =
      hours(std::max<std::int64_t>(use.held_ms - use.busy_ms - use.idle_ms, 0));
  const bool of_devices = query.by == UsageBy::gpu || query.by == UsageBy::day;
  const std::int64_t should = of_devices ? use.watched_ms : use.held_ms;
  if (use.energy_ms > 0) {
    row.energy_joules = static_cast<double>(use.counted_mj + use.integrated_mj) / 1000;
    row.energy_at_least = use.energy_ms < should;
    row.energy_integrated = use.integrated_mj > 0;
    if (query.price_per_kwh) row.cost = *row.energy_joules / 3.6e6 * *query.price_per_kwh;
  }
  if (of_devices)
    row.unwatched_hours = hours(std::max<std::int64_t>(all.window_ms - use.watched_ms, 0));
  if (query.by == UsageBy::user || query.by == UsageBy::day) {
    row.waits = all.waits;
    row.waited_hours = hours(all.waited_ms);
  }
  if (query.by != UsageBy::job) row.runs = all.runs.size();
  return row;
}

/// By user and by job.
Result<void> add_holders(Database& database, Table& table, const UsageReport& report) {
  const bool by_job = report.by == UsageBy::job;
  const std::string_view by_user =
      "SELECT user, '', sum(held_ms), sum(busy_ms), sum(idle_ms), sum(counted_mj), "
      "sum(integrated_mj), sum(energy_ms) FROM holder_use WHERE bucket_ms>=? AND bucket_ms<? "
      "GROUP BY user";
  const std::string_view by_jobs =
      "SELECT job, user, sum(held_ms), sum(busy_ms), sum(idle_ms), sum(counted_mj), "
      "sum(integrated_mj), sum(energy_ms) FROM holder_use WHERE bucket_ms>=? AND bucket_ms<? "
      "GROUP BY job, user";
  return database.each(
      by_job ? by_jobs : by_user, {report.since.unix_ms, report.until.unix_ms},
      [&](const ResultRow& row) { table[{row.text(0), row.text(1)}].use += use_in(row, 2); });
}

/// By gpu and by day, and how much of the time nobody looked.
Result<void> add_devices(Database& database, Table& table, UsageReport& report,
                         const UsageQuery& query, std::int64_t last_ms) {
  std::vector<std::string> devices;
  auto read = database.each(
      "SELECT uuid FROM device WHERE id IN (SELECT device FROM device_use "
      "WHERE bucket_ms>=? AND bucket_ms<?)",
      {report.since.unix_ms, report.until.unix_ms},
      [&](const ResultRow& row) { devices.push_back(row.text(0)); });
  if (!read) return read;
  const bool by_gpu = query.by == UsageBy::gpu;
  const bool by_day = query.by == UsageBy::day;
  std::int64_t watched_ms = 0;
  read = database.each(
      "SELECT bucket_ms, uuid, watched_ms, held_ms, busy_ms, idle_ms, counted_mj, integrated_mj, "
      "energy_ms FROM device_use JOIN device ON device.id=device_use.device "
      "WHERE bucket_ms>=? AND bucket_ms<?",
      {report.since.unix_ms, report.until.unix_ms}, [&](const ResultRow& row) {
        Use use = use_in(row, 3);
        use.watched_ms = row.integer(2);
        watched_ms += use.watched_ms;
        if (by_gpu) table[{row.text(1), ""}].use += use;
        if (by_day) table[{day_of(row.integer(0), query), ""}].use += use;
      });
  if (!read || !report.knows_since) return read;
  // What could have been watched: from the first sample on, to the end that was asked for.
  std::int64_t possible_ms = 0;
  const std::int64_t until = std::max(std::min(report.until.unix_ms, query.until.unix_ms), last_ms);
  const auto count = static_cast<std::int64_t>(devices.size());
  std::int64_t at = std::max(report.since.unix_ms, report.knows_since->unix_ms);
  while (at < std::min(until, report.until.unix_ms)) {
    const std::int64_t next = std::min(
        {history::floor_to(at, usage_bucket_ms) + usage_bucket_ms, until, report.until.unix_ms});
    possible_ms += (next - at) * count;
    if (by_day) table[{day_of(at, query), ""}].window_ms += (next - at) * count;
    if (by_gpu) {
      for (const std::string& device : devices) table[{device, ""}].window_ms += next - at;
    }
    at = next;
  }
  report.unwatched_hours = hours(std::max<std::int64_t>(possible_ms - watched_ms, 0));
  return {};
}

/// Whose name is whose: the latest that had it.
Result<std::map<std::string, std::int64_t>> uids_since(Database& database, WallTime since) {
  std::map<std::string, std::int64_t> uids;
  const auto read = database.each(
      "SELECT user, uid, from_ms FROM span WHERE (to_ms IS NULL OR to_ms>=?1) AND uid>=0 "
      "UNION ALL SELECT user, uid, from_ms FROM wait WHERE (to_ms IS NULL OR to_ms>=?1) AND uid>=0 "
      "ORDER BY 3",
      {since.unix_ms}, [&](const ResultRow& row) { uids[row.text(0)] = row.integer(1); });
  if (!read) return std::unexpected(read.error());
  return uids;
}

Result<void> add_uids(Database& database, UsageReport& report) {
  const auto uids = uids_since(database, report.since);
  if (!uids) return std::unexpected(uids.error());
  for (UsageRow& row : report.rows) {
    const auto found = uids->find(report.by == UsageBy::user ? row.key : row.user);
    if (found != uids->end()) row.uid = found->second;
  }
  return {};
}

}  // namespace

std::string_view name_of(UsageBy by) {
  for (const auto& [value, name] : by_names) {
    if (value == by) return name;
  }
  return "user";
}

std::optional<UsageBy> usage_by_from_name(std::string_view name) {
  for (const auto& [value, known] : by_names) {
    if (known == name) return value;
  }
  return std::nullopt;
}

Result<UsageReport> HistoryReader::usage(const UsageQuery& query) {
  const auto reading = Transaction::begin(*database_, Transaction::Kind::read);
  if (!reading) return std::unexpected(reading.error());
  UsageReport report{.by = query.by, .price_per_kwh = query.price_per_kwh};
  report.since = {history::floor_to(query.since.unix_ms, usage_bucket_ms)};
  report.until = {history::floor_to(query.until.unix_ms + usage_bucket_ms - 1, usage_bucket_ms)};
  const auto since = knows_since();
  if (!since) return std::unexpected(since.error());
  report.knows_since = *since;
  const auto last = history::last_sample_ms(*database_);
  if (!last) return std::unexpected(last.error());
  const std::int64_t last_ms = last->value_or(0);
  Table table;
  auto read = add_devices(*database_, table, report, query, last_ms);
  if (read && (query.by == UsageBy::user || query.by == UsageBy::job)) {
    read = add_holders(*database_, table, report);
  }
  if (!read) return std::unexpected(std::move(read).error());
  const auto spans = history::spans_between(*database_, report.since.unix_ms, report.until.unix_ms,
                                            history::SpanChoice::leases_and_waits);
  if (!spans) return std::unexpected(spans.error());
  for (const Span& span : *spans) {
    if (span.kind == SpanKind::wait) add_wait(table, span, report, query, last_ms);
    if (span.kind == SpanKind::lease) add_run(table, span, report, query);
  }
  for (const auto& [key, all] : table) report.rows.push_back(row_of(key, all, query));
  if (query.by == UsageBy::user || query.by == UsageBy::job) {
    const auto added = add_uids(*database_, report);
    if (!added) return std::unexpected(added.error());
    std::stable_sort(
        report.rows.begin(), report.rows.end(),
        [](const UsageRow& a, const UsageRow& b) { return a.gpu_hours > b.gpu_hours; });
  }
  return report;
}

}  // namespace berth
