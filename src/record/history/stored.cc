#include "record/history/stored.h"

#include <algorithm>

namespace berth::history {

Result<std::vector<ChunkTimes>> chunks_between(Database& database, std::int64_t from_ms,
                                               std::int64_t to_ms) {
  std::vector<ChunkTimes> chunks;
  const auto read =
      database.each("SELECT id, times FROM chunk WHERE to_ms>=? AND from_ms<? ORDER BY id",
                    {from_ms, to_ms}, [&](const ResultRow& row) {
                      auto times = decode_times(row.blob(1));
                      // A chunk without its times is one without its readings: a gap.
                      if (times) chunks.push_back({row.integer(0), *std::move(times)});
                    });
  if (!read) return std::unexpected(read.error());
  return chunks;
}

Result<std::vector<Point>> points_in(Database& database, const std::vector<ChunkTimes>& chunks,
                                     std::int64_t series, const MetricFacts& facts,
                                     std::uint64_t& damaged) {
  std::vector<Point> all;
  std::optional<Point> before;
  for (const ChunkTimes& chunk : chunks) {
    const auto add_block = [&](const ResultRow& row) {
      const auto first = static_cast<std::size_t>(std::max<std::int64_t>(row.integer(0), 0));
      const auto entries = decode_column(row.blob(1));
      if (!entries || first > chunk.times.size() || entries->size() > chunk.times.size() - first) {
        ++damaged;
        return;
      }
      const auto times = std::span(chunk.times).subspan(first);
      const auto points = points_of(facts, times, *entries, before);
      all.insert(all.end(), points.begin(), points.end());
      for (std::size_t i = entries->size(); i > 0; --i) {
        if (const auto value = (*entries)[i - 1].value()) {
          before = Point{times[i - 1], *value};
          break;
        }
      }
    };
    const auto read = database.each("SELECT first, data FROM block WHERE series=? AND chunk=?",
                                    {series, chunk.id}, add_block);
    if (!read) return std::unexpected(read.error());
  }
  return all;
}

Result<std::vector<SampleRow>> tail_of(Database& database, std::uint64_t& damaged) {
  std::vector<SampleRow> rows;
  const auto read =
      database.each("SELECT data FROM tail ORDER BY id", {}, [&](const ResultRow& row) {
        auto decoded = decode_samples(row.blob(0));
        if (!decoded) {
          ++damaged;
          return;
        }
        rows.insert(rows.end(), std::make_move_iterator(decoded->begin()),
                    std::make_move_iterator(decoded->end()));
      });
  if (!read) return std::unexpected(read.error());
  return rows;
}

Result<std::vector<Span>> spans_between(Database& database, std::int64_t from_ms,
                                        std::int64_t to_ms, SpanChoice choice) {
  std::vector<Span> spans;
  const std::int64_t takes_all = choice == SpanChoice::all ? 1 : 0;
  const std::int64_t takes_users = choice == SpanChoice::leases_and_users ? 1 : 0;
  const auto read = database.each(
      "SELECT span.kind, device.uuid, span.key, span.run, span.user, span.uid, span.title, "
      "span.from_ms, span.to_ms FROM span JOIN device ON device.id=span.device "
      "WHERE (span.to_ms IS NULL OR span.to_ms>=?1) AND span.from_ms<?2 AND (?3 OR "
      "span.kind='lease' OR (?4 AND span.kind='user')) "
      "UNION ALL SELECT 'wait', '', key, '', user, uid, wants, from_ms, to_ms FROM wait "
      "WHERE (to_ms IS NULL OR to_ms>=?1) AND from_ms<?2 AND NOT ?4 ORDER BY 8",
      {from_ms, to_ms, takes_all, takes_users}, [&](const ResultRow& row) {
        const auto kind = span_kind_from_name(row.text(0));
        if (!kind) return;  // a newer version's
        spans.push_back({.kind = *kind,
                         .device = DeviceId(row.text(1)),
                         .key = row.text(2),
                         .run = row.text(3),
                         .user = row.text(4),
                         .uid = row.maybe(5),
                         .title = row.text(6),
                         .from_ms = row.integer(7),
                         .to_ms = row.maybe(8)});
      });
  if (!read) return std::unexpected(read.error());
  return spans;
}

Result<std::optional<std::int64_t>> last_sample_ms(Database& database) {
  std::optional<std::int64_t> last;
  const auto read = database.each("SELECT data FROM tail ORDER BY id DESC LIMIT 1", {},
                                  [&](const ResultRow& row) {
                                    const auto rows = decode_samples(row.blob(0));
                                    if (rows && !rows->empty()) last = rows->back().at_ms;
                                  });
  if (!read) return std::unexpected(read.error());
  if (last) return last;
  // Not the latest by its date: the clock may have been set back since.
  return database.number("SELECT to_ms FROM chunk ORDER BY id DESC LIMIT 1");
}

namespace {

/// Puts new knowledge of each step over the old. If it comes from fewer samples it changes nothing:
/// a part of the raw samples is gone already.
void put_over(RollupRow& row, std::int64_t row_ms, Level level, const std::vector<Point>& points) {
  std::vector<std::vector<std::int64_t>> steps(row.size());
  for (const Point& point : points) {
    const std::int64_t place = (point.at_ms - row_ms) / step_of(level);
    if (point.at_ms < row_ms || place >= static_cast<std::int64_t>(row.size())) continue;
    steps[static_cast<std::size_t>(place)].push_back(point.number);
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto fresh = rollup_of(steps[i]);
    if (fresh && (!row[i] || row[i]->samples <= fresh->samples)) row[i] = fresh;
  }
}

}  // namespace

Result<void> update_rollups(Database& database, Level level, std::int64_t series,
                            const std::vector<Point>& points, std::int64_t at_ms) {
  const std::int64_t row_ms = floor_to(at_ms, row_length(level));
  const auto level_number = static_cast<std::int64_t>(level);
  RollupRow row(per_row(level));
  const auto read =
      database.each("SELECT data FROM rollup WHERE level=? AND series=? AND start_ms=?",
                    {level_number, series, row_ms}, [&](const ResultRow& found) {
                      auto known = decode_rollups(found.blob(0), level);
                      if (known) row = *std::move(known);
                    });
  if (!read) return read;
  put_over(row, row_ms, level, points);
  const std::string data = encode_rollups(row);
  return database.run("INSERT OR REPLACE INTO rollup VALUES(?,?,?,?)",
                      {level_number, series, row_ms, Blob{data}});
}

}  // namespace berth::history
