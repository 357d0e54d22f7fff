#pragma once
// Aggregate: the numbers of a stretch of time in four. Wherever readings over time become fewer
// points (columns of a chart, roll-ups, the last minute), each point is one: no peak is lost.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace berth {

template <class Number = double>
class Aggregate {
 public:
  Aggregate() = default;
  explicit Aggregate(Number number) : Aggregate(1, number, static_cast<double>(number), number) {}
  Aggregate(std::uint64_t count, Number least, double mean, Number most)
      : count_(count), least_(least), most_(most), sum_(mean * static_cast<double>(count)) {}

  void add(Number number) { add(Aggregate(number)); }
  /// Each number of both counts the same.
  void add(const Aggregate& more) {
    if (more.is_empty()) return;
    least_ = is_empty() ? more.least_ : std::min(least_, more.least_);
    most_ = is_empty() ? more.most_ : std::max(most_, more.most_);
    count_ += more.count_;
    sum_ += more.sum_;
  }

  [[nodiscard]] bool is_empty() const { return count_ == 0; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// The rest: not of an empty one.
  [[nodiscard]] Number least() const { return least_; }
  [[nodiscard]] Number most() const { return most_; }
  [[nodiscard]] double mean() const { return sum_ / static_cast<double>(count_); }
  friend bool operator==(const Aggregate&, const Aggregate&) = default;

 private:
  std::uint64_t count_ = 0;
  Number least_{};
  Number most_{};
  double sum_ = 0;
};

/// What 95 of 100 do not exceed, by nearest rank. Of at least one number; reorders them.
template <class Number>
[[nodiscard]] Number nearest_rank_95(std::vector<Number>& numbers) {
  const auto rank = static_cast<std::ptrdiff_t>((numbers.size() * 95 + 99) / 100 - 1);
  const auto at = numbers.begin() + rank;
  std::nth_element(numbers.begin(), at, numbers.end());
  return *at;
}

}  // namespace berth
