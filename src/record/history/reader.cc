#include "record/history/reader.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "record/history/database.h"
#include "record/history/schema.h"
#include "record/history/stored.h"
#include "record/history/usage_meter.h"

namespace berth {

using history::Database;
using history::Level;
using history::MetricFacts;
using history::ResultRow;
using history::Rollup;
using history::Transaction;

HistoryReader::HistoryReader(std::unique_ptr<Database> database) : database_(std::move(database)) {}
HistoryReader::HistoryReader(HistoryReader&&) noexcept = default;
HistoryReader& HistoryReader::operator=(HistoryReader&&) noexcept = default;
HistoryReader::~HistoryReader() = default;

Result<HistoryReader> HistoryReader::open(const std::string& path) {
  auto database = Database::open(path, Database::Access::read);
  if (!database) return std::unexpected(std::move(database).error());
  const auto checked = history::check_for_reading(*database);
  if (!checked) return std::unexpected(checked.error());
  return HistoryReader(std::make_unique<Database>(*std::move(database)));
}

Result<std::optional<WallTime>> HistoryReader::knows_since() {
  const auto bucket = database_->number("SELECT min(bucket_ms) FROM device_use");
  if (!bucket) return std::unexpected(bucket.error());
  const auto chunk = database_->number("SELECT min(from_ms) FROM chunk");
  if (!chunk) return std::unexpected(chunk.error());
  std::optional<std::int64_t> first = *chunk;
  if (!first) {
    std::uint64_t damaged = 0;
    const auto tail = history::tail_of(*database_, damaged);
    if (!tail) return std::unexpected(tail.error());
    if (!tail->empty()) first = tail->front().at_ms;
  }
  // A bucket begins up to a quarter of an hour before its first sample: older ones alone say more.
  if (*bucket && (!first || **bucket < *first - history::usage_bucket_ms)) first = *bucket;
  return first ? std::optional(WallTime{*first}) : std::nullopt;
}

Result<HistoryFacts> HistoryReader::facts() {
  const auto reading = Transaction::begin(*database_, Transaction::Kind::read);
  if (!reading) return std::unexpected(reading.error());
  HistoryFacts facts;
  auto read = database_->each("SELECT value FROM meta WHERE key='simulated'", {},
                              [&](const ResultRow& row) {
                                if (!row.text(0).empty()) facts.simulated = row.text(0);
                              });
  if (!read) return std::unexpected(std::move(read).error());
  const auto since = knows_since();
  if (!since) return std::unexpected(since.error());
  facts.knows_since = *since;
  const auto last = history::last_sample_ms(*database_);
  if (!last) return std::unexpected(last.error());
  if (*last) facts.last_sample = WallTime{**last};
  read = database_->each(
      "SELECT uuid, number, name, parent, memory_total, first_ms, last_ms FROM device "
      "ORDER BY number IS NULL, number, parent<>'', uuid",
      {}, [&](const ResultRow& row) {
        HistoryDevice device{
            .id = DeviceId(row.text(0)), .index = row.maybe(1), .name = row.text(2)};
        if (!row.text(3).empty()) device.parent = DeviceId(row.text(3));
        if (const auto total = row.maybe(4)) {
          device.memory_total = Bytes(static_cast<std::uint64_t>(*total));
        }
        device.first = {row.integer(5)};
        device.last = {row.integer(6)};
        facts.devices.push_back(std::move(device));
      });
  if (!read) return std::unexpected(std::move(read).error());
  read = database_->each(
      "SELECT key FROM meta WHERE key LIKE ?", {std::string_view(history::used_is_bound_key + "%")},
      [&](const ResultRow& row) {
        const std::string id = row.text(0).substr(history::used_is_bound_key.size());
        for (HistoryDevice& device : facts.devices) {
          device.used_is_bound |= device.id.text() == id;
        }
      });
  if (!read) return std::unexpected(std::move(read).error());
  return facts;
}

namespace {

/// What falls into one step of a chart.
struct Grain {
  Rollup rollup;
  std::vector<std::int64_t> samples;
};
using Steps = std::map<std::int64_t, Grain>;

struct Window {
  std::int64_t since_ms = 0;
  std::int64_t until_ms = 0;
  std::int64_t step_ms = 1000;
  [[nodiscard]] bool has(std::int64_t at_ms) const { return at_ms >= since_ms && at_ms < until_ms; }
};

void add_points(Steps& steps, const Window& window, const std::vector<history::Point>& points) {
  for (const history::Point& point : points) {
    if (!window.has(point.at_ms)) continue;
    steps[history::floor_to(point.at_ms, window.step_ms)].samples.push_back(point.number);
  }
}

/// Samples that are not yet in blocks, of all series.
struct Tail {
  std::vector<history::SampleRow> rows;
  std::uint64_t damaged = 0;
};

Result<Tail> read_tail(Database& database) {
  Tail tail;
  auto rows = history::tail_of(database, tail.damaged);
  if (!rows) return std::unexpected(std::move(rows).error());
  tail.rows = *std::move(rows);
  return tail;
}

void add_tail(Steps& steps, const Window& window, std::int64_t series, const MetricFacts& facts,
              const Tail& tail) {
  std::vector<std::int64_t> times;
  std::vector<history::Entry> entries;
  for (const history::SampleRow& row : tail.rows) {
    const auto at =
        std::lower_bound(row.readings.begin(), row.readings.end(), series,
                         [](const auto& one, std::int64_t id) { return one.first < id; });
    if (at == row.readings.end() || at->first != series) continue;
    times.push_back(row.at_ms);
    entries.push_back(at->second);
  }
  add_points(steps, window, history::points_of(facts, times, entries));
}

Result<void> add_raw(Database& database, Steps& steps, const Window& window, std::int64_t series,
                     const MetricFacts& facts, std::uint64_t& damaged) {
  const auto chunks =
      history::chunks_between(database, window.since_ms - longest_step_ms, window.until_ms);
  if (!chunks) return std::unexpected(chunks.error());
  const auto points = history::points_in(database, *chunks, series, facts, damaged);
  if (!points) return std::unexpected(points.error());
  add_points(steps, window, *points);
  return {};
}

Result<void> add_rollups(Database& database, Steps& steps, const Window& window,
                         std::int64_t series, Level level, std::uint64_t& damaged) {
  return database.each(
      "SELECT start_ms, data FROM rollup WHERE level=? AND series=? AND start_ms>=? AND start_ms<?",
      {static_cast<std::int64_t>(level), series,
       history::floor_to(window.since_ms, row_length(level)), window.until_ms},
      [&](const ResultRow& row) {
        const auto rollups = history::decode_rollups(row.blob(1), level);
        if (!rollups) {
          ++damaged;
          return;
        }
        for (std::size_t i = 0; i < rollups->size(); ++i) {
          const std::int64_t at = row.integer(0) + static_cast<std::int64_t>(i) * step_of(level);
          // The step that the window begins within is whole in the answer.
          if (!(*rollups)[i] || at + step_of(level) <= window.since_ms || at >= window.until_ms) {
            continue;
          }
          Grain& step = steps[history::floor_to(at, window.step_ms)];
          step.rollup = merged(step.rollup, *(*rollups)[i]);
        }
      });
}

/// The first step of the level that has anything.
Result<std::optional<std::int64_t>> first_of(Database& database, Level level, std::int64_t series) {
  std::optional<std::int64_t> first;
  const auto read = database.each(
      "SELECT start_ms, data FROM rollup WHERE level=? AND series=? ORDER BY start_ms LIMIT 1",
      {static_cast<std::int64_t>(level), series}, [&](const ResultRow& row) {
        const auto rollups = history::decode_rollups(row.blob(1), level);
        if (!rollups) return;
        for (std::size_t i = rollups->size(); i > 0; --i) {
          if (!(*rollups)[i - 1]) continue;
          first = row.integer(0) + static_cast<std::int64_t>(i - 1) * step_of(level);
        }
      });
  if (!read) return std::unexpected(read.error());
  return first;
}

/// What a chart is drawn from; nothing: the samples. The coarsest level that is fine enough. Where
/// that does not reach back to the chart's beginning: a coarser one that reaches further.
Result<std::optional<Level>> level_for(Database& database, const Window& window,
                                       std::int64_t series) {
  const auto samples = database.number("SELECT min(from_ms) FROM chunk");
  if (!samples) return std::unexpected(samples.error());
  std::optional<Level> best;
  std::int64_t reaches = samples->value_or(INT64_MAX);
  for (const Level level : {Level::minute, Level::hour}) {
    const auto first = first_of(database, level, series);
    if (!first) return std::unexpected(first.error());
    if (!*first) continue;
    const bool is_fine_enough = step_of(level) <= window.step_ms;
    const bool reaches_further = reaches > window.since_ms && **first < reaches - step_of(level);
    if (!is_fine_enough && !reaches_further) continue;
    best = level;
    reaches = **first;
  }
  return best;
}

std::int64_t rounded_up(std::int64_t length, std::int64_t unit) {
  return (length + unit - 1) / unit * unit;
}

Result<const MetricFacts*> facts_of(std::string_view metric) {
  const MetricFacts* facts = history::find_metric(metric);
  if (facts != nullptr && facts->read != nullptr) return facts;
  std::string known;
  for (const MetricFacts& one : history::metrics()) {
    if (one.read != nullptr) known += (known.empty() ? "" : ", ") + std::string(one.key);
  }
  return fail(ErrorCode::invalid, "the history keeps no metric \"{}\"; it has {}",
              printable(metric), known);
}

Window window_of(const SeriesQuery& query) {
  const std::int64_t length = std::max<std::int64_t>(query.until.unix_ms - query.since.unix_ms, 1);
  const auto points = static_cast<std::int64_t>(std::clamp<std::size_t>(query.points, 1, 100'000));
  return {query.since.unix_ms, query.until.unix_ms,
          rounded_up((length + points - 1) / points, 1000)};
}

/// Fills what is empty but for its device.
Result<void> fill(Database& database, HistorySeries& answer, Window window,
                  const MetricFacts& facts, std::optional<WallTime> since, const Tail& tail) {
  answer.metric = facts.key;
  answer.unit = facts.unit;
  answer.step_ms = window.step_ms;
  const auto series = database.number(
      "SELECT series.id FROM series JOIN device ON device.id=series.device "
      "WHERE process=0 AND metric=? AND device.uuid=?",
      {facts.number, std::string_view(answer.device.text())});
  if (!series) return std::unexpected(series.error());
  if (!*series) return {};
  answer.knows_since = since;
  answer.damaged_blocks = tail.damaged;
  const auto level = level_for(database, window, **series);
  if (!level) return std::unexpected(level.error());
  if (*level) window.step_ms = answer.step_ms = rounded_up(window.step_ms, step_of(**level));
  Steps steps;
  auto read = *level
                  ? add_rollups(database, steps, window, **series, **level, answer.damaged_blocks)
                  : add_raw(database, steps, window, **series, facts, answer.damaged_blocks);
  if (!read) return read;
  add_tail(steps, window, **series, facts, tail);
  const auto in_unit = [&](std::int64_t number) {
    return static_cast<double>(number) / static_cast<double>(facts.scale);
  };
  for (auto& [at, step] : steps) {
    Rollup all = step.rollup;
    if (const auto raw = history::rollup_of(step.samples)) all = merged(all, *raw);
    answer.points.push_back({{at},
                             in_unit(all.least),
                             in_unit(all.mean),
                             in_unit(all.p95),
                             in_unit(all.most),
                             all.samples});
  }
  return {};
}

}  // namespace

Result<std::vector<HistorySeries>> HistoryReader::series(const SeriesQuery& query) {
  const auto facts = facts_of(query.metric);
  if (!facts) return std::unexpected(facts.error());
  const auto reading = Transaction::begin(*database_, Transaction::Kind::read);
  if (!reading) return std::unexpected(reading.error());
  const auto since = knows_since();
  if (!since) return std::unexpected(since.error());
  const auto tail = read_tail(*database_);
  if (!tail) return std::unexpected(tail.error());
  std::vector<HistorySeries> all;
  for (const DeviceId& device : query.devices) {
    HistorySeries& one = all.emplace_back(HistorySeries{.device = device});
    auto filled = fill(*database_, one, window_of(query), **facts, *since, *tail);
    if (!filled) return std::unexpected(std::move(filled).error());
  }
  return all;
}

Result<std::vector<history::Span>> HistoryReader::spans(WallTime since, WallTime until,
                                                        history::SpanChoice choice) {
  return history::spans_between(*database_, since.unix_ms, until.unix_ms, choice);
}

Result<std::vector<HistoryEvent>> HistoryReader::events(WallTime since, WallTime until) {
  std::vector<HistoryEvent> events;
  const auto read = database_->each(
      "SELECT at_ms, kind, device, code, text, uid FROM event WHERE at_ms>=? AND at_ms<? "
      "ORDER BY at_ms, id",
      {since.unix_ms, until.unix_ms}, [&](const ResultRow& row) {
        events.push_back({.at = {row.integer(0)},
                          .kind = row.text(1),
                          .device = DeviceId(row.text(2)),
                          .code = row.text(3),
                          .text = row.text(4),
                          .uid = row.maybe(5)});
      });
  if (!read) return std::unexpected(read.error());
  return events;
}

std::vector<Aggregate<>> in_columns(const HistorySeries& series, WallTime since, WallTime until,
                                    std::size_t count) {
  std::vector<Aggregate<>> columns(count);
  const std::int64_t window = until.unix_ms - since.unix_ms;
  if (window <= 0 || count == 0) return columns;
  const auto place = [&](std::int64_t at_ms) {
    const std::int64_t inside = std::clamp<std::int64_t>(at_ms - since.unix_ms, 0, window - 1);
    return static_cast<std::size_t>(inside) * count / static_cast<std::size_t>(window);
  };
  for (const SeriesPoint& point : series.points) {
    const std::int64_t from = point.at.unix_ms;
    const std::int64_t to = std::max(from + series.step_ms, from + 1) - 1;
    if (to < since.unix_ms || from >= until.unix_ms) continue;
    for (std::size_t at = place(from); at <= place(to); ++at) {
      columns[at].add({point.samples, point.least, point.mean, point.most});
    }
  }
  return columns;
}

}  // namespace berth
