#include "record/history/rollup.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

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

struct Part {
  std::int64_t (*get)(const Rollup&);
  void (*set)(Rollup&, std::int64_t);
};
constexpr auto parts = std::to_array<Part>({
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
    if (!facts.is_counter) {
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

std::optional<Rollup> rollup_of(std::vector<std::int64_t>& numbers) {
  if (numbers.empty()) return std::nullopt;
  Rollup rollup{.samples = numbers.size()};
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  rollup.least = *least;
  rollup.most = *most;
  double sum = 0;
  for (const std::int64_t number : numbers) sum += static_cast<double>(number);
  const double mean = sum / static_cast<double>(numbers.size());
  // Beyond 2^53 a double of the mean may lie outside of what it is the mean of.
  rollup.mean = mean >= 9.2e18    ? rollup.most
                : mean <= -9.2e18 ? rollup.least
                                  : std::clamp(static_cast<std::int64_t>(std::llround(mean)),
                                               rollup.least, rollup.most);
  const std::size_t rank = (numbers.size() * 95 + 99) / 100 - 1;
  const auto at = numbers.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(numbers.begin(), at, numbers.end());
  rollup.p95 = *at;
  return rollup;
}

Rollup merged(const Rollup& a, const Rollup& b) {
  if (a.samples == 0) return b;
  if (b.samples == 0) return a;
  Rollup both;
  both.samples = a.samples + b.samples;
  both.least = std::min(a.least, b.least);
  both.most = std::max(a.most, b.most);
  both.p95 = std::max(a.p95, b.p95);
  const double share = static_cast<double>(b.samples) / static_cast<double>(both.samples);
  const double mean =
      static_cast<double>(a.mean) * (1 - share) + static_cast<double>(b.mean) * share;
  both.mean = std::abs(mean) < 9.2e18
                  ? std::clamp(static_cast<std::int64_t>(std::llround(mean)), both.least, both.most)
                  : a.mean;
  return both;
}

std::string encode_rollups(const RollupRow& row) {
  std::string block;
  for (const Part& part : parts) {
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
  for (const Part& part : parts) {
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
