// HistoryStore::fill_past: what was before the first look, of a server that is simulated. A month
// takes a second: roll-ups of it are made from few looks, and samples only of the last hour.

#include <algorithm>

#include "record/history/store.h"
#include "record/history/stored.h"

namespace berth {

using history::floor_to;
using history::hour_ms;
using history::Level;
using history::MetricFacts;
using history::Point;
using history::usage_bucket_ms;

namespace {

constexpr std::int64_t sampled_ms = hour_ms + usage_bucket_ms;
constexpr std::int64_t minutes_ms = 48 * hour_ms;
constexpr std::int64_t second_ms = 1000;

/// The look after the one at `at`. The far past is looked at twice in each quarter of an hour, at
/// its ends. So spans that begin or end with a quarter are dated right.
std::int64_t look_after(std::int64_t at, std::int64_t now) {
  if (at >= floor_to(now, usage_bucket_ms) - hour_ms) return at + longest_step_ms;
  if (at >= floor_to(now - minutes_ms, row_length(Level::hour))) return at + step_of(Level::minute);
  const std::int64_t end = floor_to(at, usage_bucket_ms) + usage_bucket_ms;
  return at + second_ms < end ? end - second_ms : end;
}

}  // namespace

Result<void> HistoryStore::fill_past(const Past& past, std::chrono::hours length) {
  const std::int64_t now = clock_->wall_now().unix_ms;
  const auto last = history::last_sample_ms(*database_);
  if (!last) return std::unexpected(last.error());
  const std::int64_t earliest = now - std::chrono::milliseconds(length).count();
  const std::int64_t first = std::max(earliest, last->value_or(earliest));
  if (now - first < sampled_ms) return {};
  usage_.look_every(usage_bucket_ms);
  spans_.look_every(usage_bucket_ms);
  const auto commit_every = std::exchange(options_.commit_every, std::chrono::hours(1));
  auto done = fill_past(past, floor_to(first, usage_bucket_ms) + usage_bucket_ms, now);
  if (done) done = flush();
  options_.commit_every = commit_every;
  usage_.look_every(longest_step_ms);
  spans_.look_every(longest_step_ms);
  return done;
}

Result<void> HistoryStore::fill_past(const Past& past, std::int64_t from, std::int64_t now) {
  std::map<std::int64_t, std::vector<Point>> points;  // by series, of one day
  std::map<std::int64_t, Point> counters;
  const std::int64_t samples_from = floor_to(now, usage_bucket_ms) - hour_ms;
  const std::int64_t minutes_from = floor_to(now - minutes_ms, row_length(Level::hour));
  for (std::int64_t at = from; at < now; at = look_after(at, now)) {
    const PastLook look = past({at});
    const Snapshot& snapshot = look.snapshot;
    for (const HistoryEvent& event : look.events) {
      auto kept = add(event);
      if (!kept) return kept;
    }
    if (at >= samples_from) {
      auto done = append(snapshot);
      if (!done) return done;
      continue;
    }
    auto kind = check_kind(snapshot);
    if (!kind) return kind;
    const SnapshotIndex index(snapshot);
    auto taken = note_points(snapshot, counters, points);
    if (!taken) return taken;
    usage_.add(index);
    note_xids(snapshot);
    for (history::Span& span : spans_.changes(index)) pending_.spans.push_back(std::move(span));
    const std::int64_t next = look_after(at, now);
    const bool has_minutes = at >= minutes_from;
    const bool ends_row =
        floor_to(at, has_minutes ? row_length(Level::minute) : row_length(Level::hour)) !=
        floor_to(next, has_minutes ? row_length(Level::minute) : row_length(Level::hour));
    if (!ends_row && next < samples_from) continue;
    auto done = write_past(points, at, has_minutes);
    if (!done) return done;
    points.clear();
  }
  return {};
}

Result<void> HistoryStore::note_points(const Snapshot& snapshot,
                                       std::map<std::int64_t, Point>& counters,
                                       std::map<std::int64_t, std::vector<Point>>& points) {
  const std::int64_t at = snapshot.taken.unix_ms;
  for (const Device& device : snapshot.devices) {
    const auto number = registry_.device(*database_, device, at);
    if (!number) return std::unexpected(number.error());
    for (const MetricFacts& facts : history::metrics()) {
      if (facts.read == nullptr) continue;
      const history::Entry entry = history::entry_of(facts.read(device));
      if (!entry.value()) continue;
      const auto series = registry_.series(*database_, *number, 0, facts.number);
      if (!series) return std::unexpected(series.error());
      if (facts.kind == SeriesKind::gauge) {
        points[*series].push_back({at, *entry.value()});
        continue;
      }
      const auto [before, is_new] = counters.try_emplace(*series, Point{at, *entry.value()});
      const Point was = std::exchange(before->second, Point{at, *entry.value()});
      if (is_new || was.number > *entry.value()) continue;
      points[*series].push_back({at, (*entry.value() - was.number) * 1000 / (at - was.at_ms)});
    }
  }
  return {};
}

Result<void> HistoryStore::write_past(const std::map<std::int64_t, std::vector<Point>>& points,
                                      std::int64_t at, bool has_minutes) {
  auto done = write_batch();
  if (!done) return done;
  auto transaction = history::Transaction::begin(*database_, history::Transaction::Kind::write);
  if (!transaction) return std::unexpected(std::move(transaction).error());
  for (const auto& [series, of_series] : points) {
    done = history::update_rollups(*database_, Level::hour, series, of_series, at);
    if (done && has_minutes) {
      done = history::update_rollups(*database_, Level::minute, series, of_series, at);
    }
    if (!done) return done;
  }
  return transaction->commit();
}

}  // namespace berth
