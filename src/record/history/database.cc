#include "record/history/database.h"

#include <fcntl.h>
#include <sqlite3.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/fd.h"

namespace berth::history {

namespace {

// A reader meets the writer for milliseconds only; the writer meets readers never (WAL).
constexpr int patience_ms = 2000;

ErrorCode code_of(int code, int system_errno) {
  switch (code & 0xFF) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorCode::invalid;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorCode::busy;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return ErrorCode::no_permission;
    case SQLITE_CANTOPEN:
      if (system_errno == EACCES || system_errno == EPERM || system_errno == EROFS) {
        return ErrorCode::no_permission;
      }
      return system_errno == ENOENT ? ErrorCode::not_found : ErrorCode::io;
    default:
      return ErrorCode::io;
  }
}

Error error_about(int code, int system_errno, std::string_view says, const Sentence& attempted) {
  std::string why(says);
  // SQLite says "unable to open database file" of everything that open(2) refuses.
  if (system_errno != 0 && ((code & 0xFF) == SQLITE_CANTOPEN || (code & 0xFF) == SQLITE_IOERR)) {
    why += std::string(" (") + std::strerror(system_errno) + ")";
  }
  return Error(code_of(code, system_errno), Sentence::as_is(std::move(why))).because(attempted);
}

}  // namespace

bool ResultRow::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}
std::int64_t ResultRow::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}
std::optional<std::int64_t> ResultRow::maybe(int column) const {
  return is_null(column) ? std::nullopt : std::optional(integer(column));
}
std::string ResultRow::text(int column) const { return std::string(blob(column)); }
std::string_view ResultRow::blob(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  if (bytes == nullptr || size <= 0) return {};
  return {static_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

void Database::CloseDatabase::operator()(sqlite3* database) const { sqlite3_close_v2(database); }
void Database::FinishStatement::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Error Database::error(int code, const Sentence& attempted) const {
  return error_about(code, sqlite3_system_errno(handle_.get()), sqlite3_errmsg(handle_.get()),
                     attempted);
}

Result<Database> Database::open(const std::string& path, Access access) {
  if (access == Access::write) {
    // SQLite would make it with the umask's permissions; its -wal and -shm take the file's.
    const auto made = open_fd(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
    if (!made) return std::unexpected(made.error());
  }
  const int flags = access == Access::write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<sqlite3, CloseDatabase> handle(raw);
  if (code != SQLITE_OK) {
    const int system_errno = raw == nullptr ? 0 : sqlite3_system_errno(raw);
    return std::unexpected(error_about(code, system_errno,
                                       raw == nullptr ? "no memory" : sqlite3_errmsg(raw),
                                       sentence("cannot open the history {}", path)));
  }
  sqlite3_extended_result_codes(raw, 1);
  sqlite3_busy_timeout(raw, patience_ms);
  // The file may be a stranger's: its schema is not trusted to call anything.
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  return Database(path, std::move(handle));
}

Result<void> Database::execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK)
    return std::unexpected(error(code, sentence("cannot use the history {}", path_)));
  return {};
}

Result<sqlite3_stmt*> Database::prepared(std::string_view sql) {
  const auto found = statements_.find(sql);
  if (found != statements_.end()) return found->second.get();
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  Statement statement(raw);
  if (code != SQLITE_OK)
    return std::unexpected(error(code, sentence("cannot read the history {}", path_)));
  statements_.emplace(sql, std::move(statement));
  return raw;
}

Result<void> Database::each(std::string_view sql, std::initializer_list<Value> values,
                            const std::function<void(const ResultRow&)>& row) {
  const auto statement = prepared(sql);
  if (!statement) return std::unexpected(statement.error());
  int place = 0;
  for (const Value& value : values) {
    ++place;
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      sqlite3_bind_int64(*statement, place, *number);
    } else if (const auto* text = std::get_if<std::string_view>(&value)) {
      sqlite3_bind_text64(*statement, place, text->data() == nullptr ? "" : text->data(),
                          text->size(), SQLITE_STATIC, SQLITE_UTF8);
    } else if (const auto* blob = std::get_if<Blob>(&value)) {
      sqlite3_bind_blob64(*statement, place, blob->bytes.data(), blob->bytes.size(), SQLITE_STATIC);
    } else {
      sqlite3_bind_null(*statement, place);
    }
  }
  int code = SQLITE_ROW;
  const ResultRow current(*statement);
  while ((code = sqlite3_step(*statement)) == SQLITE_ROW) {
    if (row) row(current);
  }
  std::optional<Error> failure;
  if (code != SQLITE_DONE) failure = error(code, sentence("cannot use the history {}", path_));
  sqlite3_reset(*statement);
  sqlite3_clear_bindings(*statement);
  if (failure) return std::unexpected(*std::move(failure));
  return {};
}

Result<void> Database::run(std::string_view sql, std::initializer_list<Value> values) {
  return each(sql, values, nullptr);
}

Result<std::optional<std::int64_t>> Database::number(std::string_view sql,
                                                     std::initializer_list<Value> values) {
  std::optional<std::int64_t> found;
  bool any = false;
  const auto done = each(sql, values, [&](const ResultRow& row) {
    if (!std::exchange(any, true)) found = row.maybe(0);
  });
  if (!done) return std::unexpected(done.error());
  return found;
}

std::int64_t Database::last_inserted() const { return sqlite3_last_insert_rowid(handle_.get()); }

Result<Transaction> Transaction::begin(Database& database, Kind kind) {
  const auto begun = database.run(kind == Kind::write ? "BEGIN IMMEDIATE" : "BEGIN");
  if (!begun) return std::unexpected(begun.error());
  return Transaction(database);
}

Transaction::~Transaction() {
  // After some errors SQLite has rolled back itself and says so: nothing to do about it.
  if (database_ != nullptr) static_cast<void>(database_->run("ROLLBACK"));
}

Result<void> Transaction::commit() {
  auto done = database_->run("COMMIT");
  if (done) database_ = nullptr;
  return done;
}

}  // namespace berth::history
