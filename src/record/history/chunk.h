#pragma once
// OpenChunk: the samples since the last ten-minute mark, in memory, column by column. And their
// form in the store's tail: a restarted program reads them from there. Pure.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "record/history/column.h"

namespace berth::history {

inline constexpr std::int64_t chunk_length_ms = 600'000;
/// Ten a second for ten minutes, and ten times that.
inline constexpr std::size_t most_samples = 60'000;

/// One look: what each series was.
struct SampleRow {
  std::int64_t at_ms = 0;
  std::vector<std::pair<std::int64_t, Entry>> readings;  // by series
  friend bool operator==(const SampleRow&, const SampleRow&) = default;
};

class OpenChunk {
 public:
  struct Column {
    std::size_t first = 0;  // which sample it begins with
    std::vector<Entry> entries;
  };

  [[nodiscard]] bool is_empty() const { return times_.empty(); }
  /// Whether a sample of that time belongs to a chunk of its own: another ten minutes, a clock that
  /// was set back, a chunk that is full.
  [[nodiscard]] bool ends_before(std::int64_t at_ms) const;
  void add(const SampleRow& row);

  [[nodiscard]] const std::vector<std::int64_t>& times() const { return times_; }
  [[nodiscard]] const std::map<std::int64_t, Column>& columns() const { return columns_; }

 private:
  std::vector<std::int64_t> times_;
  std::map<std::int64_t, Column> columns_;  // by series
};

/// How many are put into one row of the tail at most.
inline constexpr std::size_t most_samples_per_row = 60;
/// A row of the tail. The numbers of series are ascending, and not below 1.
[[nodiscard]] std::string encode_samples(std::span<const SampleRow> rows);
/// invalid: damaged.
[[nodiscard]] Result<std::vector<SampleRow>> decode_samples(std::string_view block);

namespace detail {
/// Without the checksum, for the fuzzer.
[[nodiscard]] Result<std::vector<SampleRow>> decode_samples_body(std::string_view body);
}  // namespace detail

}  // namespace berth::history
