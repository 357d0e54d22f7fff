#include "record/history/rollup.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/aggregate.h"
#include "record/history/bytes.h"

namespace berth::history {

namespace {

/// By how much a counter grew per second; nothing where that cannot be told.
std::optional<std::int64_t> rate(const Point& before, const Point& now) {
  std::int64_t step = 0;
  if (__builtin_sub_overflow(now.at_ms, before.at_ms, &step)) return std::nullopt;
  if (step <= 0 || step > longest_step_ms) return std::nullopt;
  const auto from = static_cast<std::uint64_t>(before.number);
  const auto to = static_cast<std::uint64_t>(now.number);
  if (to < from) return std::nullopt;
  const double per_second = static_cast<double>(to - from) * 1000.0 / static_cast<double>(step);
  if (per_second > 9e18) return std::nullopt;
  return std::llround(per_second);
}

struct RollupMember {
  std::int64_t (*get)(const Rollup&);
  void (*set)(Rollup&, std::int64_t);
};
constexpr auto parts = std::to_array<RollupMember>({
    {[](const Rollup& r) { return static_cast<std::int64_t>(r.samples); },
     [](Rollup& r, std::int64_t n) { r.samples = static_cast<std::uint64_t>(n); }},
    {[](const Rollup& r) { return r.least; }, [](Rollup& r, std::int64_t n) { r.least = n; }},
    {[](const Rollup& r) { return r.mean; }, [](Rollup& r, std::int64_t n) { r.mean = n; }},
    {[](const Rollup& r) { return r.p95; }, [](Rollup& r, std::int64_t n) { r.p95 = n; }},
    {[](const Rollup& r) { return r.most; }, [](Rollup& r, std::int64_t n) { r.most = n; }},
});

std::unexpected<Error> damaged_rollup() {
  return fail(ErrorCode::invalid, "a row of roll-ups in the history is damaged");
}

}  // namespace

std::vector<Point> points_of(const MetricFacts& facts, std::span<const std::int64_t> times,
                             std::span<const Entry> entries, std::optional<Point> before) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < std::min(times.size(), entries.size()); ++i) {
    const auto number = entries[i].value();
    if (!number) continue;
    const Point now{times[i], *number};
    if (facts.kind == SeriesKind::gauge) {
      points.push_back(now);
      continue;
    }
    if (before) {
      if (const auto grown = rate(*before, now)) points.push_back({now.at_ms, *grown});
    }
    before = now;
  }
  return points;
}

namespace {

Rollup rollup_with(const Aggregate<std::int64_t>& all, std::int64_t p95) {
  // Beyond 2^53 a double of the mean may lie outside of what it is the mean of.
  const double mean = all.mean();
  const std::int64_t whole = std::abs(mean) < 9.2e18 ? std::llround(mean)
                             : mean < 0              ? all.least()
                                                     : all.most();
  return {.samples = all.count(),
          .least = all.least(),
          .mean = std::clamp(whole, all.least(), all.most()),
          .p95 = p95,
          .most = all.most()};
}

Aggregate<std::int64_t> aggregate_of(const Rollup& rollup) {
  return {rollup.samples, rollup.least, static_cast<double>(rollup.mean), rollup.most};
}

}  // namespace

std::optional<Rollup> rollup_of(std::vector<std::int64_t>& numbers) {
  if (numbers.empty()) return std::nullopt;
  Aggregate<std::int64_t> all;
  for (const std::int64_t number : numbers) all.add(number);
  return rollup_with(all, nearest_rank_95(numbers));
}

Rollup merged(const Rollup& a, const Rollup& b) {
  if (a.samples == 0) return b;
  if (b.samples == 0) return a;
  Aggregate<std::int64_t> both = aggregate_of(a);
  both.add(aggregate_of(b));
  return rollup_with(both, std::max(a.p95, b.p95));
}

std::string encode_rollups(const RollupRow& row) {
  std::string block;
  for (const RollupMember& part : parts) {
    std::vector<Entry> entries;
    entries.reserve(row.size());
    for (const auto& rollup : row) entries.push_back(rollup ? Entry(part.get(*rollup)) : Entry());
    const std::string column = encode_column(entries);
    put_varint(block, column.size());
    block += column;
  }
  return block;
}

Result<RollupRow> decode_rollups(std::string_view block, Level level) {
  RollupRow row(per_row(level));
  ByteReader reader(block);
  for (const RollupMember& part : parts) {
    const auto size = reader.varint();
    const auto bytes = size ? reader.bytes(*size) : std::nullopt;
    if (!bytes) return damaged_rollup();
    const auto entries = decode_column(*bytes);
    if (!entries) return std::unexpected(entries.error());
    if (entries->size() != row.size()) return damaged_rollup();
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto number = (*entries)[i].value();
      if (!number) continue;
      if (!row[i]) row[i] = Rollup{};
      part.set(*row[i], *number);
    }
  }
  return row;
}

}  // namespace berth::history
