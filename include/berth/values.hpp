#pragma once
// What berth.hpp answers with. A Result has a value or an Error. A Reading has a value or why there
// is none. A number knows its unit.
//
// Nothing here throws but value(), `*` and `->` where there is no value: berth::Failure, or without
// exceptions std::terminate().

#include <berth/berth.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#if __has_include(<version>)
#include <version>
#endif
#ifdef __cpp_lib_expected
#include <expected>
#endif

namespace berth {

/// Why something was not done: for the program code(), for people message().
class Error {
 public:
  Error(berth_code code, std::string message) : code_(code), message_(std::move(message)) {}
  berth_code code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }

 private:
  berth_code code_;
  std::string message_;
};

/// Thrown where code insists on a value that is not there.
class Failure : public std::exception {
 public:
  explicit Failure(Error error) : error_(std::move(error)) {}
  const Error& error() const noexcept { return error_; }
  const char* what() const noexcept override { return error_.message().c_str(); }

 private:
  Error error_;
};

namespace detail {

[[noreturn]] inline void fail(const Error& error) {
#ifdef __cpp_exceptions
  throw Failure(error);
#else
  (void)error;
  std::terminate();
#endif
}

}  // namespace detail

/// A value, or why there is none. Reads like std::expected, and becomes one where there is one.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : held_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const noexcept { return held_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  T& value() & { return *checked(); }
  const T& value() const& { return *const_cast<Result*>(this)->checked(); }
  T value() && { return std::move(*checked()); }
  T& operator*() & { return *checked(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*checked()); }
  T* operator->() { return checked(); }
  const T* operator->() const { return &value(); }

  /// Only where there is no value.
  const Error& error() const { return std::get<1>(held_); }

#ifdef __cpp_lib_expected
  operator std::expected<T, Error>() && {
    if (!has_value()) return std::unexpected(error());
    return std::move(*checked());
  }
#endif

 private:
  T* checked() {
    if (T* value = std::get_if<0>(&held_)) return value;
    detail::fail(error());
  }
  std::variant<T, Error> held_;
};

/// Of a call whose success gives nothing.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool has_value() const noexcept { return !error_; }
  explicit operator bool() const noexcept { return has_value(); }
  void value() const {
    if (error_) detail::fail(*error_);
  }
  void operator*() const { value(); }
  const Error& error() const { return error_.value(); }

#ifdef __cpp_lib_expected
  operator std::expected<void, Error>() const {
    if (error_) return std::unexpected(*error_);
    return {};
  }
#endif

 private:
  std::optional<Error> error_;
};

/// A number that knows its unit: it compares and adds with its own kind alone.
template <class Unit, class Number>
class Quantity {
 public:
  constexpr explicit Quantity(Number count) noexcept : count_(count) {}
  constexpr Number count() const noexcept { return count_; }

  friend constexpr bool operator==(Quantity a, Quantity b) { return a.count_ == b.count_; }
  friend constexpr bool operator!=(Quantity a, Quantity b) { return !(a == b); }
  friend constexpr bool operator<(Quantity a, Quantity b) { return a.count_ < b.count_; }
  friend constexpr bool operator>(Quantity a, Quantity b) { return b < a; }
  friend constexpr bool operator<=(Quantity a, Quantity b) { return !(b < a); }
  friend constexpr bool operator>=(Quantity a, Quantity b) { return !(a < b); }
  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity(a.count_ + b.count_);
  }

 private:
  Number count_;
};
using Bytes = Quantity<struct BytesUnit, std::uint64_t>;
using Milliwatts = Quantity<struct MilliwattsUnit, std::uint64_t>;
using Celsius = Quantity<struct CelsiusUnit, std::uint64_t>;
using Percent = Quantity<struct PercentUnit, double>;

/// The reason as `berth status --json` writes it.
inline const char* name_of(berth_absent why) {
  switch (why) {
    case BERTH_PRESENT:
      return "present";
    case BERTH_ABSENT_UNSUPPORTED:
      return "unsupported";
    case BERTH_ABSENT_NO_PERMISSION:
      return "no permission";
    case BERTH_ABSENT_FAILED:
      return "failed";
    case BERTH_ABSENT_NOT_SAMPLED:
      return "not sampled";
  }
  return "unknown";  // of a newer library
}

/// A measured value, or why there is none. It is no bool: 0 is a value.
template <class T>
class Reading {
 public:
  Reading(T value) : value_(std::move(value)) {}
  Reading(berth_absent why) : why_(why) {}

  bool has() const noexcept { return value_.has_value(); }
  explicit operator bool() const = delete;
  const T& operator*() const {
    if (!value_) detail::fail(Error(BERTH_E_INVALID, std::string("no reading: ") + name_of(why_)));
    return *value_;
  }
  berth_absent why() const noexcept { return why_; }

 private:
  std::optional<T> value_;
  berth_absent why_ = BERTH_PRESENT;
};

}  // namespace berth
