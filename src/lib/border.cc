// What berth.h says of errors and versions, and the border itself.

#include <fmt/format.h>

#include <pthread.h>

#include <exception>
#include <new>

#include "base/check.h"
#include "lib/objects.h"

namespace berth::lib {

namespace {

/// What BERTH_CHECK found, thrown up to the border: a library does not end its host.
struct Bug {
  std::string text;
};

berth_code code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::not_found:
      return BERTH_E_NOT_FOUND;
    case ErrorCode::unsupported:
      return BERTH_E_UNSUPPORTED;
    case ErrorCode::no_permission:
      return BERTH_E_NO_PERMISSION;
    case ErrorCode::busy:
      return BERTH_E_BUSY;
    case ErrorCode::invalid:
      return BERTH_E_INVALID;
    case ErrorCode::timeout:
      return BERTH_E_TIMEOUT;
    case ErrorCode::io:
      return BERTH_E_IO;
  }
  return BERTH_E_BUG;
}

berth_code tell(berth_error** error, berth_code code, std::string message) noexcept {
  if (error == nullptr) return code;
  *error = new (std::nothrow) berth_error{.code = code, .message = std::move(message)};
  return code;
}

/// A thread that the host cancels ends behind the call. Inside the call it would be unwound through
/// noexcept frames.
class NoCancellation {
 public:
  NoCancellation() { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancellation() { ::pthread_setcancelstate(before_, nullptr); }
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;

 private:
  int before_ = 0;
};

}  // namespace

Failure::Failure(const Error& error) : code(code_of(error.code())), message(error.message()) {}

berth_code at_border(berth_error** error, const std::function<Outcome()>& act) {
  if (error != nullptr) *error = nullptr;
  const NoCancellation whole;
  try {
    Outcome failed = act();
    if (!failed) return BERTH_OK;
    return tell(error, failed->code, std::move(failed->message));
  } catch (const Bug& bug) {
    return tell(error, BERTH_E_BUG, bug.text);
  } catch (const std::bad_alloc&) {
    return tell(error, BERTH_E_NO_MEMORY, {});
  } catch (const std::exception& thrown) {
    return tell(error, BERTH_E_BUG, std::string("a bug in libberth: ") + thrown.what());
  } catch (...) {
    return tell(error, BERTH_E_BUG, "a bug in libberth");
  }
}

}  // namespace berth::lib

namespace berth {
void check_failed(const char* claim, const char* should, const char* file, int line) {
  throw lib::Bug{
      fmt::format("a bug in libberth at {}:{}: ({}) does not hold: {}", file, line, claim, should)};
}
}  // namespace berth

extern "C" {

const char* berth_error_message(const berth_error* error) {
  if (error == nullptr) return "";
  const bool is_told = !error->message.empty() || error->code != BERTH_E_NO_MEMORY;
  return is_told ? error->message.c_str() : "memory ran out";
}

berth_code berth_error_code(const berth_error* error) {
  return error == nullptr ? BERTH_OK : error->code;
}

void berth_error_free(berth_error* error) { delete error; }

uint32_t berth_version() { return BERTH_HEADER_VERSION; }

const char* berth_version_text() { return BERTH_VERSION; }
}
