#pragma once
// A column: the readings of one series at the samples of one chunk, packed into a few bits each.
// Pure.
//
// Numbers are whole (record/history/metric.h says of which part of a unit). A column keeps the
// differences between neighbours, divided by their greatest common divisor. So a driver that
// reports whole percents or whole MiB costs no more than that. It keeps the lowest bytes of all,
// then the next. Each such plane goes through deflate where that helps. Whatever 64-bit numbers go
// in come out: differences wrap, as counters do. Older files hold three more layouts and two more
// predictors, which were 6 % smaller together and are read for ever.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/reading.h"
#include "base/result.h"

namespace berth::history {

/// What a series was at one sample: a number, absent for a reason, or `nobody`: the series did not
/// exist then (a process before its start, a device not yet found).
class Entry {
 public:
  static constexpr std::uint8_t kind_value = 0;
  static constexpr std::uint8_t kind_nobody = 5;
  static constexpr std::uint8_t kinds = 6;

  Entry() = default;
  explicit Entry(std::int64_t value) : value_(value), kind_(kind_value) {}
  explicit Entry(Absent why) : kind_(static_cast<std::uint8_t>(1 + static_cast<int>(why))) {}
  /// From a kind as it is written. Nothing: there is no such kind, or it needs a number.
  [[nodiscard]] static std::optional<Entry> of_kind(std::uint8_t kind);

  [[nodiscard]] std::optional<std::int64_t> value() const {
    return kind_ == kind_value ? std::optional(value_) : std::nullopt;
  }
  [[nodiscard]] bool is_there() const { return kind_ != kind_nobody; }
  [[nodiscard]] std::uint8_t kind() const { return kind_; }
  friend bool operator==(const Entry&, const Entry&) = default;

 private:
  std::int64_t value_ = 0;
  std::uint8_t kind_ = kind_nobody;
};

/// A block that claims to hold more is refused before anything is allocated for it.
inline constexpr std::size_t most_entries = 1 << 16;

/// At most `most_entries`.
[[nodiscard]] std::string encode_column(std::span<const Entry> entries);
/// invalid: damaged, or written by a newer version.
[[nodiscard]] Result<std::vector<Entry>> decode_column(std::string_view block);

/// Times in milliseconds, as a column without anything absent.
[[nodiscard]] std::string encode_times(std::span<const std::int64_t> times);
[[nodiscard]] Result<std::vector<std::int64_t>> decode_times(std::string_view block);

namespace detail {
/// A block without its checksum: for the fuzzer, which would otherwise never get behind it.
[[nodiscard]] Result<std::vector<Entry>> decode_column_body(std::string_view body);
}  // namespace detail

}  // namespace berth::history
