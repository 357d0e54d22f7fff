#pragma once
// Reading<T>: a measured value, or the reason there is none. Code that takes the value has to say
// what happens when it is absent. No sentinel (-1, 0, "N/A") can leak into arithmetic.

#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace berth {

/// Why a measured value is missing.
///
/// `unsupported` this kind of device has no such reading, and never will have one.
/// `no_permission` it exists, this user may not read it.
/// `failed` reading it went wrong this time (the GPU fell off the bus, the call timed out).
/// `not_sampled` nobody has tried yet, or a rate still lacks its second sample.
enum class Absent { unsupported, no_permission, failed, not_sampled };

/// The word used for the reason in JSON: never translated, never changed.
[[nodiscard]] constexpr std::string_view name_of(Absent why) {
  switch (why) {
    case Absent::unsupported:
      return "unsupported";
    case Absent::no_permission:
      return "no permission";
    case Absent::failed:
      return "failed";
    case Absent::not_sampled:
      return "not sampled";
  }
  return "failed";
}

/// The reason as a text for people goes on with it: a key of the catalogue.
[[nodiscard]] constexpr std::string_view reason_of(Absent why) {
  switch (why) {
    case Absent::unsupported:
      return "not supported by this device";
    case Absent::no_permission:
      return "no permission to read it";
    case Absent::failed:
      return "reading it failed";
    case Absent::not_sampled:
      return "not read";
  }
  return "not read";
}

[[nodiscard]] constexpr std::optional<Absent> absent_from_name(std::string_view name) {
  for (Absent why :
       {Absent::unsupported, Absent::no_permission, Absent::failed, Absent::not_sampled}) {
    if (name_of(why) == name) return why;
  }
  return std::nullopt;
}

template <class T>
class Reading {
 public:
  using value_type = T;

  Reading() = default;                            // not_sampled
  Reading(Absent why) : why_(why) {}              // NOLINT(google-explicit-constructor)
  Reading(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)

  /// The value, if there is one.
  [[nodiscard]] const std::optional<T>& get() const { return value_; }
  [[nodiscard]] bool has_value() const { return value_.has_value(); }
  /// The reason there is no value. Only meaningful when get() is empty.
  [[nodiscard]] Absent why() const { return why_; }

  friend bool operator==(const Reading& a, const Reading& b) {
    return a.value_ == b.value_ && (a.value_.has_value() || a.why_ == b.why_);
  }

 private:
  std::optional<T> value_;
  Absent why_ = Absent::not_sampled;
};

/// In the reading's own unit, whatever it counts.
template <class T>
[[nodiscard]] std::optional<double> as_number(const Reading<T>& reading) {
  if (!reading.get()) return std::nullopt;
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(*reading.get());
  } else {
    return static_cast<double>(reading.get()->count());
  }
}

}  // namespace berth
