#include "view/report/track.h"

#include <algorithm>
#include <cmath>

namespace berth {

namespace {
// Longer no run is; a hostile file may say so.
constexpr std::int64_t longest_run_ms = 100LL * 365 * 24 * 3'600'000;
}  // namespace

void Track::add(std::int64_t at_ms, double value) { add_to_column(at_ms, value, Gaps::shown); }

void Track::add_mark(std::int64_t at_ms, double value) { add_to_column(at_ms, value, Gaps::none); }

void Track::add_to_column(std::int64_t at_ms, double value, Gaps gaps) {
  if (at_ms < 0 || at_ms > longest_run_ms || !std::isfinite(value)) return;
  while (at_ms / column_ms_ >= static_cast<std::int64_t>(most_columns)) halve();
  const auto index = static_cast<std::size_t>(at_ms / column_ms_);
  if (columns_.size() <= index) columns_.resize(index + 1);
  Column& column = columns_[index];
  const bool gap = gaps == Gaps::shown && count_ > 0 &&
                   at_ms - last_ms_ > std::max(longest_step_ms, 2 * column_ms_);
  if (column.values.is_empty()) column.begins = broken_ || gap || count_ == 0;
  column.values.add(value);
  column.times += static_cast<double>(at_ms);
  ++count_;
  last_ms_ = at_ms;
  broken_ = false;
}

void Track::halve() {
  std::vector<Column> merged((columns_.size() + 1) / 2);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& from = columns_[i];
    Column& into = merged[i / 2];
    if (from.values.is_empty()) continue;
    if (into.values.is_empty()) into.begins = from.begins;
    into.values.add(from.values);
    into.times += from.times;
  }
  columns_ = std::move(merged);
  column_ms_ *= 2;
}

std::vector<Track::Point> Track::points() const {
  std::vector<Point> points;
  for (const Column& column : columns_) {
    const Aggregate<>& values = column.values;
    if (values.is_empty()) continue;
    const auto count = static_cast<double>(values.count());
    points.push_back({.at_ms = static_cast<std::int64_t>(column.times / count),
                      .least = values.least(),
                      .most = values.most(),
                      .mean = values.mean(),
                      .begins = column.begins});
  }
  return points;
}

Aggregate<> Track::whole() const {
  Aggregate<> all;
  for (const Column& column : columns_) all.add(column.values);
  return all;
}

std::optional<double> Track::least() const {
  const Aggregate<> all = whole();
  return all.is_empty() ? std::nullopt : std::optional(all.least());
}

std::optional<double> Track::most() const {
  const Aggregate<> all = whole();
  return all.is_empty() ? std::nullopt : std::optional(all.most());
}

}  // namespace berth
