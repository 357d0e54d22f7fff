#pragma once
// Database: SQLite with our errors. Statements are prepared once and kept; a value goes in as a
// Value and comes out of a ResultRow. One thread at a time.
//
// Errors  invalid: the file is no database, or a damaged one. io: the disk is full or does not take
//         or give what it should. no_permission: the file may not be read or written. busy: another
//         process writes. not_found: there is no file.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace berth::history {

struct Blob {
  std::string_view bytes;
};
using Value = std::variant<std::monostate, std::int64_t, std::string_view, Blob>;

[[nodiscard]] inline Value value_of(const std::optional<std::int64_t>& number) {
  return number ? Value(*number) : Value();
}

/// The current row of a query; text and blobs are valid until the next.
class ResultRow {
 public:
  explicit ResultRow(sqlite3_stmt* statement) : statement_(statement) {}
  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::optional<std::int64_t> maybe(int column) const;
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::string_view blob(int column) const;

 private:
  sqlite3_stmt* statement_;
};

class Database {
 public:
  enum class Access { write, read };
  /// For writing the file is made, readable for its owner alone, where there is none.
  [[nodiscard]] static Result<Database> open(const std::string& path, Access access);

  /// One statement or, without values, several.
  [[nodiscard]] Result<void> execute(const std::string& sql);
  /// `sql` is a literal: what it was prepared as is kept under it.
  [[nodiscard]] Result<void> run(std::string_view sql, std::initializer_list<Value> values = {});
  [[nodiscard]] Result<void> each(std::string_view sql, std::initializer_list<Value> values,
                                  const std::function<void(const ResultRow&)>& row);
  /// The first column of the first row; nothing: no row, or null.
  [[nodiscard]] Result<std::optional<std::int64_t>> number(
      std::string_view sql, std::initializer_list<Value> values = {});

  [[nodiscard]] std::int64_t last_inserted() const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  struct CloseDatabase {
    void operator()(sqlite3* database) const;
  };
  struct FinishStatement {
    void operator()(sqlite3_stmt* statement) const;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, FinishStatement>;

  Database(std::string path, std::unique_ptr<sqlite3, CloseDatabase> handle)
      : path_(std::move(path)), handle_(std::move(handle)) {}
  [[nodiscard]] Result<sqlite3_stmt*> prepared(std::string_view sql);
  [[nodiscard]] Error error(int code, const Sentence& attempted) const;

  std::string path_;
  std::unique_ptr<sqlite3, CloseDatabase> handle_;
  std::map<std::string_view, Statement> statements_;  // gone before the handle
};

/// Everything within is written, or nothing of it: rolled back unless commit() succeeds.
class Transaction {
 public:
  enum class Kind { read, write };
  [[nodiscard]] static Result<Transaction> begin(Database& database, Kind kind);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  [[nodiscard]] Result<void> commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;  // null: it is over
};

}  // namespace berth::history
