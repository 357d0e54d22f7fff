#include "base/result.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/check.h"

namespace berth {

std::string_view name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::not_found:
      return "not found";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::no_permission:
      return "no permission";
    case ErrorCode::busy:
      return "busy";
    case ErrorCode::invalid:
      return "invalid";
    case ErrorCode::timeout:
      return "timeout";
    case ErrorCode::io:
      return "io";
  }
  return "io";
}

Error Error::because(std::string_view attempted) && {
  std::string text(attempted);
  text += ": ";
  text += message_;
  return {code_, std::move(text)};
}

std::unexpected<Error> fail(ErrorCode code, std::string message) {
  return std::unexpected(Error(code, std::move(message)));
}

namespace {
ErrorCode code_of_errno(int value) {
  switch (value) {
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorCode::no_permission;
    case ENOENT:
    case ESRCH:
    case ENOTDIR:
      return ErrorCode::not_found;
    case EAGAIN:
    case EBUSY:
      return ErrorCode::busy;
    case ETIMEDOUT:
      return ErrorCode::timeout;
    case EINVAL:
    case ELOOP:
      return ErrorCode::invalid;
    case ENOSYS:
    case EOPNOTSUPP:
      return ErrorCode::unsupported;
    default:
      return ErrorCode::io;
  }
}
}  // namespace

Error system_error(std::string_view attempted, int errno_value) {
  std::string text = "cannot ";
  text += attempted;
  text += ": ";
  text += std::strerror(errno_value);
  return {code_of_errno(errno_value), std::move(text)};
}

std::unexpected<Error> fail_system(std::string_view attempted, int errno_value) {
  return std::unexpected(system_error(attempted, errno_value));
}

void check_failed(const char* claim, const char* should, const char* file, int line) {
  std::fprintf(stderr, "berth: bug at %s:%d: (%s) does not hold: %s\n", file, line, claim, should);
  std::abort();
}

}  // namespace berth
