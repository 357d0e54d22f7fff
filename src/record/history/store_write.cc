// What HistoryStore writes: every few seconds a batch, every ten minutes the blocks of a chunk.

#include <algorithm>
#include <span>
#include <utility>

#include "record/history/store.h"
#include "record/history/stored.h"

namespace berth {

using history::ChunkTimes;
using history::hour_ms;
using history::Level;
using history::MetricFacts;
using history::OpenChunk;
using history::Point;
using history::Span;
using history::SpanKind;
using history::Transaction;
using history::value_of;

namespace {
// Ended chunks that the disk did not take: with the open one, half an hour.
constexpr std::size_t most_ended = 3;
// A disk that is full for days must not fill the memory as well.
constexpr std::size_t most_pending = 20'000;

template <class T>
void drop_oldest(std::vector<T>& list) {
  if (list.size() > most_pending) {
    list.erase(list.begin(), list.end() - static_cast<std::ptrdiff_t>(most_pending));
  }
}
}  // namespace

void HistoryStore::end_chunk() {
  // What is not in the tail yet is in the chunk.
  pending_.samples.clear();
  ended_.push_back({std::exchange(chunk_, {}), next_tail_id_ - 1});
  while (ended_.size() > most_ended) {
    lost_samples_ += ended_.front().chunk.times().size();
    ended_.pop_front();
  }
}

Result<void> HistoryStore::write_pending() {
  drop_oldest(pending_.spans);
  drop_oldest(pending_.events);
  auto room = keep_log_short(log_allowance() / 2);
  if (!room) return room;
  auto done = write_all();
  if (done || done.error().code() != ErrorCode::io) return done;
  // It may be full because it may not grow further: then there is something to forget.
  auto made = make_room();
  if (!made) return done;
  return write_all();
}

Result<void> HistoryStore::write_all() {
  while (!ended_.empty()) {
    const std::size_t columns = ended_.front().chunk.columns().size();
    Result<void> done;
    if (columns > most_columns_) {
      most_columns_ = columns;
      done = make_room();
    }
    // The largest piece there is begins with an empty log.
    if (done) done = keep_log_short(0);
    if (done) done = seal(ended_.front());
    if (!done) return done;
    const std::int64_t last_ms = ended_.front().chunk.times().back();
    ended_.pop_front();
    registry_.forget_old(last_ms);
    done = forget_by_age(last_ms);
    if (!done) return done;
    done = make_room();
    if (!done) return done;
  }
  return write_batch();
}

Result<void> HistoryStore::write_batch() {
  auto transaction = Transaction::begin(*database_, Transaction::Kind::write);
  if (!transaction) return std::unexpected(std::move(transaction).error());
  auto done = write_tail();
  if (done) done = write_spans();
  if (done) done = write_events();
  if (done) done = write_usage();
  if (done) done = registry_.write(*database_);
  if (done) done = transaction->commit();
  if (!done) return done;
  next_tail_id_ += tail_rows_;
  registry_.written();
  usage_.clear();
  // A full disk takes what has nothing in it.
  if (!pending_.samples.empty()) ++commits_;
  pending_ = {};
  return {};
}

Result<void> HistoryStore::write_tail() {
  std::int64_t id = next_tail_id_;
  // Many, where the disk did not take them for a while.
  for (std::span rest(pending_.samples); !rest.empty();) {
    const auto part = rest.first(std::min(rest.size(), history::most_samples_per_row));
    const std::string data = history::encode_samples(part);
    auto done = database_->run("INSERT INTO tail VALUES(?,?)", {id++, history::Blob{data}});
    if (!done) return done;
    rest = rest.subspan(part.size());
  }
  tail_rows_ = id - next_tail_id_;
  return {};
}

Result<void> HistoryStore::write_spans() {
  for (const Span& span : pending_.spans) {
    const std::string_view key = span.key;
    const auto uid = value_of(span.uid);
    if (span.kind == SpanKind::wait) {
      auto done = span.to_ms
                      ? database_->run("UPDATE wait SET to_ms=? WHERE to_ms IS NULL AND key=?",
                                       {*span.to_ms, key})
                      : database_->run(
                            "INSERT INTO wait(key,user,uid,wants,from_ms) "
                            "VALUES(?,?,?,?,?)",
                            {key, std::string_view(span.user), uid, std::string_view(span.title),
                             span.from_ms});
      if (!done) return done;
      continue;
    }
    const auto device = registry_.device(*database_, span.device, span.from_ms);
    if (!device) return std::unexpected(device.error());
    const std::string_view kind = name_of(span.kind);
    auto done =
        span.to_ms
            ? database_->run(
                  "UPDATE span SET to_ms=? WHERE to_ms IS NULL AND kind=? AND device=? "
                  "AND key=?",
                  {*span.to_ms, kind, *device, key})
            : database_->run(
                  "INSERT INTO span(kind,device,key,run,user,uid,title,from_ms) "
                  "VALUES(?,?,?,?,?,?,?,?)",
                  {kind, *device, key, std::string_view(span.run), std::string_view(span.user), uid,
                   std::string_view(span.title), span.from_ms});
    if (!done) return done;
  }
  return {};
}

Result<void> HistoryStore::write_events() {
  for (const HistoryEvent& event : pending_.events) {
    auto done = database_->run(
        "INSERT INTO event(at_ms,kind,device,code,text,uid) SELECT ?1,?2,?3,?4,?5,?6 WHERE NOT "
        "EXISTS(SELECT 1 FROM event WHERE at_ms BETWEEN ?1-2000 AND ?1+2000 AND kind=?2 AND "
        "device=?3 AND code=?4 AND text IN(?5,''))",
        {event.at.unix_ms, std::string_view(event.kind), std::string_view(event.device.text()),
         std::string_view(event.code), std::string_view(event.text), value_of(event.uid)});
    if (!done) return done;
  }
  return {};
}

Result<void> HistoryStore::write_usage() {
  for (const auto& [place, use] : usage_.devices()) {
    const auto device = registry_.device(*database_, place.device, place.bucket_ms);
    if (!device) return std::unexpected(device.error());
    auto done = database_->run(
        "INSERT INTO device_use VALUES(?,?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET "
        "watched_ms=watched_ms+excluded.watched_ms, held_ms=held_ms+excluded.held_ms, "
        "busy_ms=busy_ms+excluded.busy_ms, idle_ms=idle_ms+excluded.idle_ms, "
        "counted_mj=counted_mj+excluded.counted_mj, "
        "integrated_mj=integrated_mj+excluded.integrated_mj, "
        "energy_ms=energy_ms+excluded.energy_ms",
        {place.bucket_ms, *device, use.watched_ms, use.held_ms, use.busy_ms, use.idle_ms,
         use.counted_mj, use.integrated_mj, use.energy_ms});
    if (!done) return done;
  }
  for (const auto& [place, use] : usage_.holders()) {
    const auto device = registry_.device(*database_, place.device, place.bucket_ms);
    if (!device) return std::unexpected(device.error());
    auto done = database_->run(
        "INSERT INTO holder_use VALUES(?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET "
        "held_ms=held_ms+excluded.held_ms, busy_ms=busy_ms+excluded.busy_ms, "
        "idle_ms=idle_ms+excluded.idle_ms, counted_mj=counted_mj+excluded.counted_mj, "
        "integrated_mj=integrated_mj+excluded.integrated_mj, "
        "energy_ms=energy_ms+excluded.energy_ms",
        {place.bucket_ms, *device, std::string_view(place.user), std::string_view(place.job),
         use.held_ms, use.busy_ms, use.idle_ms, use.counted_mj, use.integrated_mj, use.energy_ms});
    if (!done) return done;
  }
  return {};
}

Result<void> HistoryStore::seal(const EndedChunk& ended) {
  if (ended.chunk.is_empty()) return {};
  auto transaction = Transaction::begin(*database_, Transaction::Kind::write);
  if (!transaction) return std::unexpected(std::move(transaction).error());
  // The blocks name series that may be as new as they are.
  auto done = registry_.write(*database_);
  if (done) done = write_chunk(ended.chunk);
  if (done) done = database_->run("DELETE FROM tail WHERE id<=?", {ended.last_tail_id});
  const std::int64_t hour = history::floor_to(ended.chunk.times().front(), hour_ms);
  if (done) done = refresh_rollups(hour, ended.chunk);
  if (done) done = registry_.write_last_seen(*database_);
  if (done) done = transaction->commit();
  if (done) registry_.written();
  return done;
}

Result<void> HistoryStore::write_chunk(const OpenChunk& chunk) {
  const auto [from, to] = std::minmax_element(chunk.times().begin(), chunk.times().end());
  const std::string times = history::encode_times(chunk.times());
  auto done = database_->run("INSERT INTO chunk(from_ms,to_ms,times) VALUES(?,?,?)",
                             {*from, *to, history::Blob{times}});
  const std::int64_t id = database_->last_inserted();
  for (const auto& [series, column] : chunk.columns()) {
    if (!done) return done;
    const std::string data = history::encode_column(column.entries);
    done =
        database_->run("INSERT INTO block(chunk,series,first,data) VALUES(?,?,?,?)",
                       {id, series, static_cast<std::int64_t>(column.first), history::Blob{data}});
  }
  return done;
}

Result<void> HistoryStore::refresh_rollups(std::int64_t hour, const OpenChunk& chunk) {
  // A counter's first step begins with the sample before.
  const auto chunks = history::chunks_between(*database_, hour - longest_step_ms, hour + hour_ms);
  if (!chunks) return std::unexpected(chunks.error());
  for (const auto& [series, column] : chunk.columns()) {
    const auto metric =
        database_->number("SELECT metric FROM series WHERE id=? AND process=0", {series});
    if (!metric) return std::unexpected(metric.error());
    const MetricFacts* facts = *metric ? history::find_metric(**metric) : nullptr;
    if (facts == nullptr) continue;  // of a process: its charts are drawn from the samples alone
    std::uint64_t damaged = 0;
    auto points = history::points_in(*database_, *chunks, series, *facts, damaged);
    if (!points) return std::unexpected(points.error());
    std::erase_if(*points, [&](const Point& point) {
      return point.at_ms < hour || point.at_ms >= hour + hour_ms;
    });
    if (points->empty()) continue;
    for (const Level level : {Level::minute, Level::hour}) {
      auto done = history::update_rollups(*database_, level, series, *points, hour);
      if (!done) return done;
    }
  }
  return {};
}

}  // namespace berth
