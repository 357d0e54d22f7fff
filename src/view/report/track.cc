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
  if (column.count == 0) {
    column = {.least = value, .most = value, .begins = broken_ || gap || count_ == 0};
  }
  column.least = std::min(column.least, value);
  column.most = std::max(column.most, value);
  column.sum += value;
  column.times += static_cast<double>(at_ms);
  ++column.count;
  ++count_;
  last_ms_ = at_ms;
  broken_ = false;
}

void Track::halve() {
  std::vector<Column> merged((columns_.size() + 1) / 2);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& from = columns_[i];
    Column& into = merged[i / 2];
    if (from.count == 0) continue;
    if (into.count == 0) {
      into = from;
      continue;
    }
    into.least = std::min(into.least, from.least);
    into.most = std::max(into.most, from.most);
    into.sum += from.sum;
    into.times += from.times;
    into.count += from.count;
  }
  columns_ = std::move(merged);
  column_ms_ *= 2;
}

std::vector<Track::Point> Track::points() const {
  std::vector<Point> points;
  for (const Column& column : columns_) {
    if (column.count == 0) continue;
    const auto count = static_cast<double>(column.count);
    points.push_back({.at_ms = static_cast<std::int64_t>(column.times / count),
                      .least = column.least,
                      .most = column.most,
                      .mean = column.sum / count,
                      .begins = column.begins});
  }
  return points;
}

std::optional<double> Track::least() const {
  std::optional<double> least;
  for (const Column& column : columns_) {
    if (column.count > 0) least = std::min(least.value_or(column.least), column.least);
  }
  return least;
}

std::optional<double> Track::most() const {
  std::optional<double> most;
  for (const Column& column : columns_) {
    if (column.count > 0) most = std::max(most.value_or(column.most), column.most);
  }
  return most;
}

}  // namespace berth
