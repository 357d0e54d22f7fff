#pragma once
// Expected failures: Result<T> is a value or an Error. The code is for the program; the message
// is for a person and says what was attempted, on what, what the system said, and what to try.

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace berth {

enum class ErrorCode { not_found, unsupported, no_permission, busy, invalid, timeout, io };

[[nodiscard]] std::string_view name_of(ErrorCode code);

class [[nodiscard]] Error {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  [[nodiscard]] ErrorCode code() const { return code_; }
  /// In English, as programs, records and other servers have it.
  [[nodiscard]] const std::string& message() const { return message_; }
  /// In the chosen language (base/sentence.cc).
  [[nodiscard]] std::string shown() const;

  /// Puts what was being attempted in front: "starting the job: cannot open …".
  [[nodiscard]] Error because(std::string_view attempted) &&;

 private:
  ErrorCode code_;
  std::string message_;
};

template <class T>
using Result = std::expected<T, Error>;

/// `return fail(ErrorCode::invalid, "…");`
[[nodiscard]] std::unexpected<Error> fail(ErrorCode code, std::string message);

/// An Error from errno: "cannot <attempted>: <what the system says>". EACCES and EPERM become
/// no_permission, ENOENT not_found, EAGAIN and EBUSY busy, ENOSPC and the rest io.
[[nodiscard]] Error system_error(std::string_view attempted, int errno_value);
[[nodiscard]] std::unexpected<Error> fail_system(std::string_view attempted, int errno_value);

}  // namespace berth
