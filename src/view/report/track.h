#pragma once
// Track: one reading over the time of a run in few enough columns to draw, however long it was. A
// column keeps the least, the most and the mean of its time, so that no peak is lost.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/aggregate.h"
#include "snapshot/recorded.h"

namespace berth {

class Track {
 public:
  /// A week of samples becomes this many columns at most, and never fewer than half of it.
  static constexpr std::size_t most_columns = 480;

  /// `at_ms`: since the start of the run. Values before the start are left out, and so is what is
  /// no number. A value out of the order of time is put where it belongs, without a line. A gap
  /// stands where no value came for longer than longest_step_ms and than two columns.
  void add(std::int64_t at_ms, double value);
  /// The same of what comes when it comes: however far apart, a line leads from one to the next.
  void add_mark(std::int64_t at_ms, double value);
  /// It was asked for then, and absent: the line has a gap there.
  void add_absent() { broken_ = true; }

  struct Point {
    std::int64_t at_ms = 0;  // the mean time of what is in it
    double least = 0;
    double most = 0;
    double mean = 0;
    bool begins = false;  // nothing leads to it from the one before
  };
  [[nodiscard]] std::vector<Point> points() const;
  [[nodiscard]] bool empty() const { return columns_.empty(); }
  [[nodiscard]] std::optional<double> least() const;
  [[nodiscard]] std::optional<double> most() const;
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  struct Column {
    Aggregate<> values;
    double times = 0;  // the sum of theirs
    bool begins = false;
  };
  enum class Gaps { shown, none };
  void add_to_column(std::int64_t at_ms, double value, Gaps gaps);
  void halve();
  [[nodiscard]] Aggregate<> whole() const;
  std::vector<Column> columns_;
  std::int64_t column_ms_ = 100;
  std::int64_t last_ms_ = 0;
  std::uint64_t count_ = 0;
  bool broken_ = true;
};

}  // namespace berth
