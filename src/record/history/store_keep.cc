// How HistoryStore stays as small and as young as it was told.

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "record/history/store.h"

namespace berth {

using history::hour_ms;
using history::Transaction;

namespace {

constexpr std::int64_t page_bytes = 4096;
// FILE-shm, for up to 32 MiB of log.
constexpr std::uint64_t shared_memory_bytes = 64 << 10;
// Free pages are used again; only beyond this are they given back.
constexpr std::int64_t most_free_pages = 512;
// What is deleted at once: what is written meanwhile waits for it.
constexpr std::int64_t chunks_at_once = 60;

std::int64_t ms(std::chrono::hours hours) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(hours).count();
}

/// All in one transaction.
Result<void> run_all(history::Database& database, std::initializer_list<std::string_view> sentences,
                     std::initializer_list<history::Value> values) {
  auto transaction = Transaction::begin(database, Transaction::Kind::write);
  if (!transaction) return std::unexpected(std::move(transaction).error());
  for (const std::string_view sentence : sentences) {
    auto done = database.run(sentence, values);
    if (!done) return done;
  }
  return transaction->commit();
}

Result<std::int64_t> number(history::Database& database, std::string_view sql) {
  const auto found = database.number(sql);
  if (!found) return std::unexpected(found.error());
  return found->value_or(0);
}

Result<void> forget_rollups(history::Database& database, history::Level level,
                            std::int64_t before_ms) {
  return database.run(
      "DELETE FROM rollup WHERE level=?1 AND start_ms<?2 AND series IN "
      "(SELECT id FROM series WHERE process=0)",
      {static_cast<std::int64_t>(level), before_ms});
}

/// What is kept as long as the hours are.
Result<void> forget_the_rest(history::Database& database, std::int64_t before_ms) {
  auto done = forget_rollups(database, history::Level::hour, before_ms);
  if (!done) return done;
  return run_all(database,
                 {"DELETE FROM device_use WHERE bucket_ms<?1",
                  "DELETE FROM holder_use WHERE bucket_ms<?1", "DELETE FROM span WHERE to_ms<?1",
                  "DELETE FROM wait WHERE to_ms<?1", "DELETE FROM event WHERE at_ms<?1"},
                 {before_ms});
}

}  // namespace

std::uint64_t HistoryStore::log_allowance() const {
  // An eighth, at most 16 MiB. But no less than a chunk's blocks and their roll-ups touch: some
  // four pages a series.
  const std::uint64_t usual = std::min<std::uint64_t>(options_.at_most.count() / 8, 16 << 20);
  const std::uint64_t chunk = (4 * most_columns_ + 64) * static_cast<std::uint64_t>(page_bytes);
  return std::min(std::max(usual, chunk), options_.at_most.count() / 2);
}

Result<void> HistoryStore::keep_log_short(std::uint64_t at_most) {
  struct stat about{};
  const std::string log = path_ + "-wal";
  const auto size = [&] {
    return ::stat(log.c_str(), &about) == 0 ? static_cast<std::uint64_t>(about.st_size) : 0;
  };
  if (size() <= at_most) return {};
  // Fails where a reader still needs what is in it: then it grows until it may not.
  static_cast<void>(database_->run("PRAGMA wal_checkpoint(TRUNCATE)"));
  if (size() <= log_allowance()) return {};
  return fail(ErrorCode::io,
              "cannot write the history {}: a program has been reading it for long, and {} may not "
              "grow further",
              path_, log);
}

Result<void> HistoryStore::forget_chunks(std::int64_t before_ms, std::int64_t at_most) {
  auto transaction = Transaction::begin(*database_, Transaction::Kind::write);
  if (!transaction) return std::unexpected(std::move(transaction).error());
  auto done = database_->run(
      "DELETE FROM block WHERE chunk IN (SELECT id FROM chunk WHERE to_ms<? ORDER BY to_ms LIMIT "
      "?)",
      {before_ms, at_most});
  if (!done) return done;
  done = database_->run(
      "DELETE FROM chunk WHERE id IN (SELECT id FROM chunk WHERE to_ms<? ORDER BY to_ms LIMIT ?)",
      {before_ms, at_most});
  if (!done) return done;
  return transaction->commit();
}

Result<void> HistoryStore::forget_by_age(std::int64_t now_ms) {
  // A clock that jumps ahead for an hour must not cost the history. It is believed once it has
  // samples of the day before.
  const std::int64_t raw_for = ms(options_.raw_for);
  const auto believed = database_->number(
      "SELECT 1 FROM chunk WHERE to_ms BETWEEN ? AND ? LIMIT 1",
      {now_ms - std::min(2 * day_ms, raw_for), now_ms - std::min(20 * hour_ms, raw_for / 2)});
  if (!believed) return std::unexpected(believed.error());
  if (!*believed) return {};
  auto done = forget_chunks(now_ms - raw_for, chunks_at_once);
  if (!done) return done;
  done = run_all(*database_,
                 {"DELETE FROM series WHERE process IN (SELECT id FROM process WHERE last_ms<?1 "
                  "ORDER BY last_ms LIMIT 1000)",
                  "DELETE FROM process WHERE id IN (SELECT id FROM process WHERE last_ms<?1 "
                  "ORDER BY last_ms LIMIT 1000)"},
                 {now_ms - raw_for - day_ms});
  if (!done) return done;
  done = forget_rollups(*database_, history::Level::minute, now_ms - ms(options_.minutes_for));
  if (!done) return done;
  return forget_the_rest(*database_, now_ms - ms(options_.hours_for));
}

/// False: there is nothing left that could go.
Result<bool> HistoryStore::forget_oldest() {
  const auto chunks = number(*database_, "SELECT count(*) FROM chunk");
  if (!chunks) return std::unexpected(chunks.error());
  // The last two hours are what the roll-ups of this hour are made from.
  if (*chunks > 12) {
    auto done = forget_chunks(INT64_MAX, std::clamp<std::int64_t>((*chunks - 12) / 10, 1, 60));
    if (!done) return std::unexpected(done.error());
    return true;
  }
  const auto minutes = number(*database_, "SELECT min(start_ms) FROM rollup WHERE level=1");
  if (!minutes) return std::unexpected(minutes.error());
  const auto newest = number(*database_, "SELECT max(to_ms) FROM chunk");
  if (!newest) return std::unexpected(newest.error());
  if (*minutes > 0 && *minutes < *newest - day_ms) {
    auto done = forget_rollups(*database_, history::Level::minute, *minutes + day_ms);
    if (!done) return std::unexpected(done.error());
    return true;
  }
  const auto oldest_use = number(*database_, "SELECT min(bucket_ms) FROM device_use");
  if (!oldest_use) return std::unexpected(oldest_use.error());
  if (*oldest_use > 0 && *oldest_use < *newest - 30 * day_ms) {
    auto done = forget_the_rest(*database_, *oldest_use + 30 * day_ms);
    if (!done) return std::unexpected(done.error());
    return true;
  }
  // A file so small that a day of minutes does not fit.
  if (*minutes > 0 && *minutes < *newest - 3 * hour_ms) {
    auto done = forget_rollups(*database_, history::Level::minute, *minutes + 1);
    if (!done) return std::unexpected(done.error());
    return true;
  }
  return false;
}

Result<void> HistoryStore::make_room() {
  const std::uint64_t beside = log_allowance() + shared_memory_bytes;
  const auto at_most = static_cast<std::int64_t>(options_.at_most.count() - beside) / page_bytes;
  const std::int64_t wanted = at_most / 10 * 9;
  for (;;) {
    const auto pages = number(*database_, "PRAGMA page_count");
    if (!pages) return std::unexpected(pages.error());
    const auto unused = number(*database_, "PRAGMA freelist_count");
    if (!unused) return std::unexpected(unused.error());
    if (*pages - *unused <= wanted) break;
    const auto went = forget_oldest();
    if (!went) return std::unexpected(went.error());
    if (!*went) break;
    // Deleting goes through the log as well.
    auto room = keep_log_short(log_allowance() / 4);
    if (!room) return room;
  }
  const auto unused = number(*database_, "PRAGMA freelist_count");
  if (!unused) return std::unexpected(unused.error());
  const auto pages = number(*database_, "PRAGMA page_count");
  if (!pages) return std::unexpected(pages.error());
  if (*unused > most_free_pages || *pages > at_most) {
    auto given_back = database_->run("PRAGMA incremental_vacuum");
    if (!given_back) return given_back;
  }
  // From here on SQLite itself refuses to grow beyond it.
  return database_->execute(fmt::format("PRAGMA max_page_count={}", at_most));
}

}  // namespace berth
