#include "record/history/schema.h"

#include <fmt/format.h>

namespace berth::history {

namespace {

// One chunk is ten minutes of samples; a block is one series within one chunk. `first`: which of
// the chunk's samples the block begins with. `tail` has the samples of the chunk that is still
// open. Times are milliseconds since 1970 UTC. `series.process` 0: the device's own. `rollup.level`
// 1: the minutes of an hour, 2: the hours of a UTC day; five columns, each behind its length:
// samples, least, mean, p95, most (of a counter: per second). `to_ms` null: it lasts. `…_use`: a
// quarter of an hour.
constexpr auto tables = R"(
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE device(id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, number INTEGER, name TEXT,
  parent TEXT, memory_total INTEGER, first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL);
CREATE TABLE process(id INTEGER PRIMARY KEY, device INTEGER NOT NULL, pid INTEGER NOT NULL,
  start_ticks INTEGER NOT NULL, user TEXT, name TEXT, first_ms INTEGER NOT NULL,
  last_ms INTEGER NOT NULL, UNIQUE(device, pid, start_ticks));
CREATE INDEX process_last ON process(last_ms);
CREATE TABLE series(id INTEGER PRIMARY KEY, device INTEGER NOT NULL, process INTEGER NOT NULL,
  metric INTEGER NOT NULL, UNIQUE(process, device, metric));
CREATE TABLE chunk(id INTEGER PRIMARY KEY, from_ms INTEGER NOT NULL, to_ms INTEGER NOT NULL,
  times BLOB NOT NULL);
CREATE INDEX chunk_to ON chunk(to_ms);
CREATE TABLE block(id INTEGER PRIMARY KEY, chunk INTEGER NOT NULL, series INTEGER NOT NULL,
  first INTEGER NOT NULL, data BLOB NOT NULL);
CREATE UNIQUE INDEX block_place ON block(series, chunk);
CREATE INDEX block_chunk ON block(chunk);
CREATE TABLE tail(id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE rollup(level INTEGER NOT NULL, series INTEGER NOT NULL, start_ms INTEGER NOT NULL,
  data BLOB NOT NULL, PRIMARY KEY(level, series, start_ms)) WITHOUT ROWID;
CREATE TABLE span(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, device INTEGER NOT NULL,
  key TEXT NOT NULL, run TEXT NOT NULL, user TEXT NOT NULL, uid INTEGER, title TEXT NOT NULL,
  from_ms INTEGER NOT NULL, to_ms INTEGER);
CREATE INDEX span_to ON span(to_ms);
CREATE TABLE wait(id INTEGER PRIMARY KEY, key TEXT NOT NULL, user TEXT NOT NULL, uid INTEGER,
  wants TEXT NOT NULL, from_ms INTEGER NOT NULL, to_ms INTEGER);
CREATE INDEX wait_to ON wait(to_ms);
CREATE TABLE event(id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, kind TEXT NOT NULL,
  device TEXT NOT NULL, code TEXT NOT NULL, text TEXT NOT NULL, uid INTEGER);
CREATE INDEX event_at ON event(at_ms);
CREATE TABLE device_use(bucket_ms INTEGER NOT NULL, device INTEGER NOT NULL, watched_ms INTEGER NOT NULL,
  held_ms INTEGER NOT NULL, busy_ms INTEGER NOT NULL, idle_ms INTEGER NOT NULL,
  counted_mj INTEGER NOT NULL, integrated_mj INTEGER NOT NULL, energy_ms INTEGER NOT NULL,
  PRIMARY KEY(bucket_ms, device)) WITHOUT ROWID;
CREATE TABLE holder_use(bucket_ms INTEGER NOT NULL, device INTEGER NOT NULL, user TEXT NOT NULL,
  job TEXT NOT NULL, held_ms INTEGER NOT NULL, busy_ms INTEGER NOT NULL, idle_ms INTEGER NOT NULL,
  counted_mj INTEGER NOT NULL, integrated_mj INTEGER NOT NULL, energy_ms INTEGER NOT NULL,
  PRIMARY KEY(bucket_ms, device, user, job)) WITHOUT ROWID;
)";

Result<std::int64_t> pragma(Database& database, std::string_view sql) {
  const auto value = database.number(sql);
  if (!value) return std::unexpected(value.error());
  return value->value_or(0);
}

/// 0: an empty file.
Result<std::int64_t> version_of(Database& database) {
  const auto version = pragma(database, "PRAGMA user_version");
  if (!version) return version;
  const auto id = pragma(database, "PRAGMA application_id");
  if (!id) return id;
  if (*version > format_version && *id == application_id) {
    return fail(ErrorCode::unsupported,
                "the history {} has format {}, this berth knows {} at most. Use the berth that "
                "wrote it, or name another file with --store",
                database.path(), *version, format_version);
  }
  if (*id == application_id && *version == format_version) return *version;
  if (*id == application_id && *version > 0) {
    return fail(ErrorCode::invalid, "the history {} has format {}, which no released berth wrote",
                database.path(), *version);
  }
  const auto pages = pragma(database, "PRAGMA page_count");
  if (!pages) return pages;
  if (*pages == 0 && *id == 0) return std::int64_t{0};
  // Made, and killed before its tables were there.
  const auto objects = pragma(database, "SELECT count(*) FROM sqlite_schema");
  if (!objects) return objects;
  if (*objects == 0) return std::int64_t{0};
  return fail(ErrorCode::invalid, "{} is a database, but no history of berth", database.path());
}

}  // namespace

Result<void> prepare_for_writing(Database& database) {
  const auto version = version_of(database);
  if (!version) return std::unexpected(version.error());
  if (*version == 0) {
    // Before the first table, or it has no effect.
    auto set = database.execute("PRAGMA page_size=4096; PRAGMA auto_vacuum=INCREMENTAL;");
    if (!set) return set;
  }
  // WAL: readers never wait for the writer, nor it for them. NORMAL: a killed program loses nothing
  // that was committed, a power cut the last seconds. The file stays whole in both.
  auto mode = database.execute(
      "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=250;"
      "PRAGMA journal_size_limit=1048576; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-4096;");
  if (!mode || *version == format_version) return mode;
  auto transaction = Transaction::begin(database, Transaction::Kind::write);
  if (!transaction) return std::unexpected(transaction.error());
  auto made =
      database.execute(tables + fmt::format("PRAGMA application_id={}; PRAGMA user_version={};",
                                            application_id, format_version));
  if (!made) return made;
  return transaction->commit();
}

Result<void> check_for_reading(Database& database) {
  const auto version = version_of(database);
  if (!version) return std::unexpected(version.error());
  if (*version == 0) {
    return fail(ErrorCode::not_found, "the history {} is still empty", database.path());
  }
  return {};
}

}  // namespace berth::history
