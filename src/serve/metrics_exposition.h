#pragma once
// Exposition: writes metrics in Prometheus' text format 0.0.4 or OpenMetrics 1.0. Family by family:
// begin() names the next one, add() writes its samples; a family without a sample leaves no trace.
// Internal to the metrics pages.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "serve/metrics.h"
#include "snapshot/cell.h"
#include "snapshot/fields.h"

namespace berth::serve {

enum class MetricType { gauge, counter, info };

/// What a family is, for the page and for doc/METRICS.md.
struct Family {
  std::string_view name;  // a counter's ends in _total, an info's in _info
  MetricType type = MetricType::gauge;
  std::string_view help;
  std::string_view labels = {};  // for the document: "device, user"
};

/// A sample's value: `count` times ten to the power of `exponent`. Written digit by digit, so that
/// 97 percent is 0.97 and not 0.97000000000000003.
struct Decimal {
  std::uint64_t count = 0;
  int exponent = 0;
  bool is_negative = false;
};
[[nodiscard]] constexpr Decimal decimal(std::uint64_t count, int exponent = 0) {
  return {.count = count, .exponent = exponent};
}
[[nodiscard]] constexpr Decimal signed_decimal(std::int64_t count, int exponent = 0) {
  const auto bits = static_cast<std::uint64_t>(count);
  return count < 0 ? Decimal{0 - bits, exponent, true} : Decimal{bits, exponent};
}
/// To a thousandth of the unit. Nothing: it is no number that a measurement could have.
[[nodiscard]] std::optional<Decimal> rounded(double value, int exponent);
[[nodiscard]] Decimal seconds(Duration duration);
[[nodiscard]] Decimal unix_seconds(WallTime at);
/// Writes it and says where it ends. At most `most_digits` characters.
[[nodiscard]] char* write_decimal(char* at, Decimal value);
constexpr std::size_t most_digits = 64;

/// The power of ten that brings a value in this unit to Prometheus' base unit: -3 for milliwatts.
[[nodiscard]] int base_unit_exponent(Unit unit);
/// A cell in base units; nothing: absent, a text, or no number that could be one.
[[nodiscard]] std::optional<Decimal> decimal_in(const Cell& cell, int exponent);

/// The value of a label as it stands between the quotes. Control characters and broken UTF-8 are
/// made printable. Quotes, backslashes and line breaks are escaped.
[[nodiscard]] std::string label_value(std::string_view text);
/// Adds name="value" behind what is there; an empty value is no label.
void add_label(std::string& labels, std::string_view name, std::string_view value);

class Exposition {
 public:
  /// Writes behind `text`. `expected`: bytes in all, so that one page is one allocation; growing
  /// costs as much as writing.
  Exposition(MetricsFormat format, std::size_t expected, std::string text = {})
      : format_(format), text_(std::move(text)), used_(text_.size()) {
    grow(std::max(expected, text_.capacity()) - used_);
  }

  void begin(const Family& family);
  /// `labels` as add_label() makes them, `more` behind them; either may be empty.
  void add(std::string_view labels, std::string_view more, Decimal value);
  void add(std::string_view labels, Decimal value) { add(labels, {}, value); }
  void add(Decimal value) { add({}, {}, value); }
  /// A sample only where there is a value.
  void add(std::string_view labels, std::string_view more, std::optional<Decimal> value) {
    if (value) add(labels, more, *value);
  }

  /// What is written; only once. `finish`: with the end that a whole page has.
  [[nodiscard]] std::string take();
  [[nodiscard]] std::string finish();

 private:
  void write_head();
  void grow(std::size_t by);
  void put(std::string_view part) {
    part.copy(text_.data() + used_, part.size());
    used_ += part.size();
  }
  void put(char c) { text_[used_++] = c; }

  MetricsFormat format_;
  Family family_;
  bool head_written_ = false;
  std::string text_;      // longer than what is written: each line is put into room made once
  std::size_t used_ = 0;  // of it
};

}  // namespace berth::serve
