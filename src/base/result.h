#pragma once
// Expected failures: Result<T> is a value or an Error. The code is for the program, the message is
// for a person. It says what was attempted, on what, what the system said, and what to try.

#include <expected>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/sentence.h"

namespace berth {

enum class ErrorCode { not_found, unsupported, no_permission, busy, invalid, timeout, io };

[[nodiscard]] std::string_view name_of(ErrorCode code);

class [[nodiscard]] Error {
  template <class... Args>
  using Key = detail::SentenceKey<std::type_identity_t<Args>...>;

 public:
  Error(ErrorCode code, Sentence said) : code_(code), said_(std::move(said)) {}
  template <class... Args>
  Error(ErrorCode code, Key<Args...> english, const Args&... values)
      : Error(code, sentence(english, values...)) {}

  [[nodiscard]] ErrorCode code() const { return code_; }
  [[nodiscard]] const Sentence& said() const { return said_; }
  /// In English, as programs, records and other servers have it.
  [[nodiscard]] std::string message() const { return said_.english(); }
  /// In the chosen language.
  [[nodiscard]] std::string shown() const { return said_.shown(); }

  /// Puts what was being attempted in front: "starting the job: cannot open …".
  template <class... Args>
  [[nodiscard]] Error because(Key<Args...> attempted, const Args&... values) && {
    return {code_, sentence(attempted, values...).within("", std::move(said_))};
  }
  [[nodiscard]] Error because(const Sentence& attempted) && {
    return {code_, sentence("{}: {}", attempted, said_)};
  }
  /// The same with a name: of a file, of an option.
  [[nodiscard]] Error at(std::string_view place) && {
    return {code_, sentence("{}: {}", place, said_)};
  }

 private:
  ErrorCode code_;
  Sentence said_;
};

template <class T>
using Result = std::expected<T, Error>;

/// `return fail(ErrorCode::invalid, "{} is no file", path);`
template <class... Args>
[[nodiscard]] std::unexpected<Error> fail(
    ErrorCode code, detail::SentenceKey<std::type_identity_t<Args>...> english,
    const Args&... values) {
  return std::unexpected(Error(code, sentence(english, values...)));
}
[[nodiscard]] inline std::unexpected<Error> fail(ErrorCode code, Sentence said) {
  return std::unexpected(Error(code, std::move(said)));
}

/// An Error from errno: "cannot <attempted>: <what the system says>". EACCES and EPERM become
/// no_permission, ENOENT not_found, EAGAIN and EBUSY busy, ENOSPC and the rest io.
[[nodiscard]] Error system_error(int errno_value, Sentence attempted);
[[nodiscard]] inline std::unexpected<Error> fail_system(int errno_value, Sentence attempted) {
  return std::unexpected(system_error(errno_value, std::move(attempted)));
}
template <class... Args>
[[nodiscard]] Error system_error(int errno_value,
                                 detail::SentenceKey<std::type_identity_t<Args>...> attempted,
                                 const Args&... values) {
  return system_error(errno_value, sentence(attempted, values...));
}
/// `return fail_system(errno, "open {}", path);`
template <class... Args>
[[nodiscard]] std::unexpected<Error> fail_system(
    int errno_value, detail::SentenceKey<std::type_identity_t<Args>...> attempted,
    const Args&... values) {
  return std::unexpected(system_error(errno_value, sentence(attempted, values...)));
}

}  // namespace berth
