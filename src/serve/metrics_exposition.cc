#include "serve/metrics_exposition.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/text.h"

namespace berth::serve {

std::optional<Decimal> rounded(double value, int exponent) {
  if (!(value > -9.0e15 && value < 9.0e15)) return std::nullopt;  // not a number is neither
  const double whole = std::trunc(value);
  if (whole == value) return signed_decimal(static_cast<std::int64_t>(value), exponent);
  if (std::abs(value) > 9.0e12) return signed_decimal(std::llround(value), exponent);
  return signed_decimal(std::llround(value * 1000), exponent - 3);
}

Decimal seconds(Duration duration) { return signed_decimal(duration.count(), -9); }
Decimal unix_seconds(WallTime at) { return signed_decimal(at.unix_ms, -3); }

char* write_decimal(char* at, Decimal value) {
  if (value.count == 0) {
    *at = '0';
    return at + 1;
  }
  if (value.is_negative) *at++ = '-';
  if (value.exponent == 0 && value.count < 10) {
    *at = static_cast<char>('0' + value.count);
    return at + 1;
  }
  constexpr std::ptrdiff_t longest = 20;  // of a 64-bit number
  if (value.exponent >= 0) {
    at = std::to_chars(at, at + longest, value.count).ptr;
    return std::fill_n(at, value.exponent, '0');
  }
  char digits[longest];
  const char* end = std::to_chars(digits, digits + longest, value.count).ptr;
  const std::ptrdiff_t before_point = end - digits + value.exponent;
  // Zeros behind the point say nothing; the number is none, so they come to an end.
  const char* const point = digits + std::max<std::ptrdiff_t>(before_point, 0);
  while (end > point && end[-1] == '0') --end;
  if (before_point <= 0) {
    *at++ = '0';
    *at++ = '.';
    at = std::fill_n(at, -before_point, '0');
    return std::copy<const char*>(digits, end, at);
  }
  at = std::copy_n(digits, before_point, at);
  if (end == point) return at;
  *at++ = '.';
  return std::copy<const char*>(digits + before_point, end, at);
}

int base_unit_exponent(Unit unit) {
  switch (unit) {
    case Unit::percent:
      return -2;  // a ratio from 0 to 1
    case Unit::milliwatts:
    case Unit::millijoules:
    case Unit::milliseconds:
    case Unit::millivolts:
      return -3;
    case Unit::microseconds:
      return -6;
    case Unit::megahertz:
      return 6;
    case Unit::none:
    case Unit::count:
    case Unit::bytes:
    case Unit::bytes_per_second:
    case Unit::celsius:
    case Unit::bits:
    case Unit::seconds:
      return 0;
  }
  return 0;
}

std::optional<Decimal> decimal_in(const Cell& cell, int exponent) {
  if (!cell.get()) return std::nullopt;
  return std::visit(
      [&](const auto& value) -> std::optional<Decimal> {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::string>) {
          return std::nullopt;
        } else if constexpr (std::is_same_v<Value, double>) {
          return rounded(value, exponent);
        } else if constexpr (std::is_same_v<Value, std::int64_t>) {
          return signed_decimal(value, exponent);
        } else {
          return decimal(static_cast<std::uint64_t>(value), exponent);
        }
      },
      *cell.get());
}

/// Whether it stands between quotes as it is.
static bool is_plain(std::string_view text) {
  return std::ranges::all_of(text,
                             [](char c) { return c >= ' ' && c <= '~' && c != '\\' && c != '"'; });
}

std::string label_value(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string escaped;
  for (const char c : printable(text)) {
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

void add_label(std::string& labels, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  if (!labels.empty()) labels += ',';
  labels += name;
  labels += "=\"";
  if (is_plain(value)) {
    labels += value;
  } else {
    labels += label_value(value);
  }
  labels += '"';
}

void Exposition::begin(const Family& family) {
  family_ = family;
  head_written_ = false;
}

void Exposition::write_head() {
  head_written_ = true;
  std::string_view name = family_.name;
  std::string_view type = "gauge";
  if (format_ == MetricsFormat::text_0_0_4) {
    if (family_.type == MetricType::counter) type = "counter";
  } else if (family_.type == MetricType::counter) {
    // Another program's counter may be called without …_total. It has no type there, because
    // dashboards ask for its name.
    type = name.ends_with("_total") ? "counter" : "unknown";
    if (name.ends_with("_total")) name.remove_suffix(6);
  } else if (family_.type == MetricType::info) {
    type = "info";
    name.remove_suffix(5);  // _info
  }
  if (text_.size() - used_ < 2 * name.size() + family_.help.size() + 64) grow(text_.size());
  for (const auto& [word, value] :
       {std::pair{std::string_view("# HELP "), family_.help}, {"# TYPE ", type}}) {
    put(word);
    put(name);
    put(' ');
    put(value);
    put('\n');
  }
}

void Exposition::grow(std::size_t by) {
  // The new room is not filled: filling it with zeros took as long as a third of the page.
  text_.resize_and_overwrite(text_.size() + std::max<std::size_t>(by, 4096),
                             [](char*, std::size_t size) { return size; });
}

namespace {

char* copied(std::string_view part, char* at) {
  std::memcpy(at, part.data(), part.size());
  return at + part.size();
}

}  // namespace

// A page has a thousand lines, so this writes through a pointer of its own. The compiler must
// assume that a char* may point at the members. Then it would read them again after each write.
void Exposition::add(std::string_view labels, std::string_view more, Decimal value) {
  if (!head_written_) write_head();
  const std::size_t longest = family_.name.size() + labels.size() + more.size() + most_digits + 8;
  if (text_.size() - used_ < longest) grow(std::max(text_.size(), longest));
  char* const begin = text_.data();
  char* at = copied(family_.name, begin + used_);
  if (!labels.empty() || !more.empty()) {
    *at++ = '{';
    at = copied(labels, at);
    if (!labels.empty() && !more.empty()) *at++ = ',';
    if (!more.empty()) at = copied(more, at);
    *at++ = '}';
  }
  *at++ = ' ';
  at = write_decimal(at, value);
  *at++ = '\n';
  used_ = static_cast<std::size_t>(at - begin);
}

std::string Exposition::take() {
  text_.resize(used_);
  return std::move(text_);
}

std::string Exposition::finish() {
  std::string page = take();
  if (format_ == MetricsFormat::openmetrics_1_0) page += "# EOF\n";
  return page;
}

}  // namespace berth::serve
