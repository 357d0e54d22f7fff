#include "base/result.h"

#include <cerrno>
#include <cstring>

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

Error system_error(int errno_value, Sentence attempted) {
  // strerror() would first look for a translation, of which the program has its own.
  const char* said = ::strerrordesc_np(errno_value);
  return {code_of_errno(errno_value),
          std::move(attempted).within(
              "cannot ", Sentence::as_is(said != nullptr ? said : std::strerror(errno_value)))};
}

}  // namespace berth
