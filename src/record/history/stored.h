#pragma once
// What is in a history file, read back: shared by the writer, which makes roll-ups from it, and the
// readers. Blocks that are damaged are left out and counted.

#include <cstdint>
#include <optional>
#include <vector>

#include "record/history/chunk.h"
#include "record/history/database.h"
#include "record/history/rollup.h"
#include "record/history/span.h"

namespace berth::history {

struct ChunkTimes {
  std::int64_t id = 0;
  std::vector<std::int64_t> times;
};

/// Chunks with a sample from `from_ms` on and before `to_ms`, as they were written.
[[nodiscard]] Result<std::vector<ChunkTimes>> chunks_between(Database& database,
                                                             std::int64_t from_ms,
                                                             std::int64_t to_ms);

/// Points of one series in these chunks; `damaged` counts blocks that could not be read.
[[nodiscard]] Result<std::vector<Point>> points_in(Database& database,
                                                   const std::vector<ChunkTimes>& chunks,
                                                   std::int64_t series, const MetricFacts& facts,
                                                   std::uint64_t& damaged);

/// Samples of the chunk that is still open.
[[nodiscard]] Result<std::vector<SampleRow>> tail_of(Database& database, std::uint64_t& damaged);

/// Spans that lasted at any time from `from_ms` on and before `to_ms`, by when they began. Of
/// states there are hundreds a day.

[[nodiscard]] Result<std::vector<Span>> spans_between(Database& database, std::int64_t from_ms,
                                                      std::int64_t to_ms,
                                                      SpanChoice choice = SpanChoice::all);

/// Puts what these points say into the row that holds `at_ms`; within a transaction.
[[nodiscard]] Result<void> update_rollups(Database& database, Level level, std::int64_t series,
                                          const std::vector<Point>& points, std::int64_t at_ms);

/// The newest sample's time; nothing: there is none.
[[nodiscard]] Result<std::optional<std::int64_t>> last_sample_ms(Database& database);

}  // namespace berth::history
