#pragma once
// DeviceAsker: puts questions to one device during one look, and knows when to stop asking. One
// answer "GPU is lost" makes the whole device lost: its old handle may still answer with old
// values. What a device refuses for good is not asked again at the next look.

#include <bitset>
#include <concepts>
#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/reading.h"
#include "probe/nvml/answers.h"
#include "probe/nvml/api.h"
#include "snapshot/wanted.h"

namespace berth::nvml {

/// Questions that a device refused for good: one bit per function and variant of its arguments.
class Refusals {
 public:
  [[nodiscard]] bool has(std::size_t ordinal, unsigned variant) const {
    return bits_.test(position(ordinal, variant));
  }
  void add(std::size_t ordinal, unsigned variant) { bits_.set(position(ordinal, variant)); }

 private:
  static constexpr std::size_t variants = 32;
  static std::size_t position(std::size_t ordinal, unsigned variant) {
    return ordinal * variants + variant % variants;
  }
  std::bitset<static_cast<std::size_t>(Ordinal::count) * variants> bits_;
};

/// Called after each answer of the driver: a card of a hundred slow answers is not silent.
using OnAnswer = std::function<void()>;

class DeviceAsker {
 public:
  DeviceAsker(const Api& api, Handle handle, Refusals& refusals, const Wanted& wanted,
              const OnAnswer& on_answer = {})
      : api_(api), handle_(handle), refusals_(refusals), wanted_(wanted), on_answer_(on_answer) {}
  /// Another device of the same driver.
  DeviceAsker(const DeviceAsker& parent, Handle handle, Refusals& refusals)
      : DeviceAsker(parent.api_, handle, refusals, parent.wanted_, parent.on_answer_) {}

  [[nodiscard]] const Api& api() const { return api_; }

  /// What this look is to read: a question that feeds none of it is not to be put.
  [[nodiscard]] const Wanted& wanted() const { return wanted_; }
  [[nodiscard]] bool wants(std::same_as<Detail> auto... details) const {
    return (wanted_.has(details) || ...);
  }
  /// One of these and those between them.
  [[nodiscard]] bool wants_between(Detail first, Detail last) const {
    for (auto i = static_cast<int>(first); i <= static_cast<int>(last); ++i) {
      if (wanted_.has(static_cast<Detail>(i))) return true;
    }
    return false;
  }
  [[nodiscard]] bool wants(Extra extra) const { return wanted_.has(extra); }
  template <auto... Members>
  [[nodiscard]] bool wants() const {
    return wanted_.has<Members...>();
  }

  /// Calls the function for this device unless that is known to be useless. `variant` tells apart
  /// questions of one function that a device may refuse one by one (clock domains).
  template <class... Parameters, class... Given>
  Return call(const Function<Handle, Parameters...>& function, unsigned variant, Given... given) {
    if (lost_) return gpu_is_lost;
    if (function.call == nullptr) return function_not_found;
    if (refusals_.has(function.ordinal, variant)) return not_supported;
    const Return code = answer(function, given...);
    if (code != success) note(code, function.ordinal, variant, function.symbol);
    return code;
  }

  /// A number that the function writes through its last parameter.
  template <class T, class... Parameters, class... Given>
  std::expected<T, Return> ask(const Function<Handle, Parameters...>& function, unsigned variant,
                               Given... given) {
    T value{};
    const Return code = call(function, variant, given..., &value);
    if (code != success) return std::unexpected(code);
    return value;
  }

  /// call() of a question that an older driver may not know, such as a new value of an enumeration.
  /// It then says "invalid argument", which here means "not supported", for good.
  template <class... Parameters, class... Given>
  Return call_if_known(const Function<Handle, Parameters...>& function, unsigned variant,
                       Given... given) {
    if (lost_ || function.call == nullptr || refusals_.has(function.ordinal, variant)) {
      return call(function, variant, given...);
    }
    Return code = answer(function, given...);
    if (code == invalid_argument) code = not_supported;
    if (code != success) note(code, function.ordinal, variant, function.symbol);
    return code;
  }

  /// ask() by call_if_known().
  template <class T, class... Parameters, class... Given>
  std::expected<T, Return> ask_if_known(const Function<Handle, Parameters...>& function,
                                        unsigned variant, Given... given) {
    T value{};
    const Return code = call_if_known(function, variant, given..., &value);
    if (code != success) return std::unexpected(code);
    return value;
  }

  /// A text of the usual form (buffer, length), after arguments that `variant` tells apart.
  template <class... Parameters, class... Given>
  [[nodiscard]] Reading<std::string> ask_text(const Function<Handle, Parameters...>& function,
                                              unsigned variant = 0, Given... given) {
    char buffer[text_size] = {};
    const Return code = call(function, variant, given..., static_cast<char*>(buffer), text_size);
    if (code != success) return why_absent(code);
    buffer[text_size - 1] = '\0';
    if (buffer[0] == '\0') return Absent::unsupported;
    return std::string(buffer);
  }

  /// A device's UUID; failed: what the driver says is no plain word.
  [[nodiscard]] Reading<std::string> ask_uuid() {
    auto uuid = ask_text(api().nvmlDeviceGetUUID);
    if (!uuid.get() || is_plain_id(*uuid.get())) return uuid;
    failures_.push_back("nvmlDeviceGetUUID: what it says is no UUID");
    return Absent::failed;
  }

  [[nodiscard]] bool is_lost() const { return lost_; }
  /// A lost device can also be told inside an answer that succeeded.
  void note_lost() {
    lost_ = true;
    verdict_ = gpu_is_lost;
  }
  /// The code that makes the device unusable (lost, reset required, …); success: there was none.
  [[nodiscard]] Return verdict() const { return verdict_; }
  /// Some call said that the library must be initialised again.
  [[nodiscard]] bool wants_initialising() const { return wants_initialising_; }

  /// What failed without a reason of its own ("nvmlDeviceGetTemperature: Unknown Error (999)").
  [[nodiscard]] const std::vector<std::string>& failures() const { return failures_; }
  /// An instance's failures are told as its card's.
  void add_failures_of(const DeviceAsker& instance) {
    failures_.insert(failures_.end(), instance.failures_.begin(), instance.failures_.end());
  }
  void note_failure(std::string_view symbol, Return code) {
    failures_.push_back(std::string(symbol) + ": " + words(code));
  }

 private:
  template <class... Parameters, class... Given>
  Return answer(const Function<Handle, Parameters...>& function, Given... given) {
    const Return code = function.call(handle_, given...);
    if (on_answer_) on_answer_();
    return code;
  }
  void note(Return code, std::size_t ordinal, unsigned variant, std::string_view symbol) {
    if (is_refused_for_good(code)) return refusals_.add(ordinal, variant);
    if (code == gpu_is_lost) lost_ = true;
    if (device_problem(code, DeviceId(), "")) verdict_ = code;
    if (nvml::wants_initialising(code)) wants_initialising_ = true;
    // A list that did not fit is asked again; it is no failure yet.
    if (why_absent(code) == Absent::failed && code != insufficient_size) note_failure(symbol, code);
  }

  const Api& api_;
  Handle handle_;
  Refusals& refusals_;
  const Wanted& wanted_;
  OnAnswer on_answer_;
  bool lost_ = false;
  Return verdict_ = success;
  bool wants_initialising_ = false;
  std::vector<std::string> failures_;
};

/// A reading from an answer: the number, or why it is absent.
template <class T, class Raw>
[[nodiscard]] Reading<T> reading(const std::expected<Raw, Return>& answer) {
  if (!answer) return why_absent(answer.error());
  if (is_unavailable(static_cast<std::make_unsigned_t<Raw>>(*answer))) return Absent::unsupported;
  const T value(static_cast<typename T::rep>(*answer));
  return is_possible(value) ? Reading<T>(value) : Reading<T>(Absent::failed);
}
template <class Raw>
[[nodiscard]] Reading<std::uint64_t> number(const std::expected<Raw, Return>& answer,
                                            const Range& range) {
  if (!answer) return why_absent(answer.error());
  const auto value = static_cast<std::uint64_t>(*answer);
  if (is_unavailable(value) || value < range.least) return Absent::unsupported;
  if (value > range.most) return Absent::failed;
  return value;
}
/// reading() of what is never 0 (a limit, a highest clock): then the driver has none to tell.
template <class T>
[[nodiscard]] Reading<T> above_zero(const std::expected<unsigned, Return>& answer) {
  if (answer && *answer == 0) return Absent::unsupported;
  return reading<T>(answer);
}
/// nvmlEnableState_t: 0 or 1.
[[nodiscard]] inline Reading<bool> enabled(const std::expected<unsigned, Return>& answer) {
  if (!answer) return why_absent(answer.error());
  if (*answer > 1) return Absent::failed;
  return *answer == 1;
}

}  // namespace berth::nvml
