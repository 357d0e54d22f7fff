#pragma once
// BERTH_CHECK is for bugs, never for bad input or bad luck: it says what should have held, where,
// and aborts. Not to be used in src/guard, which is a guest in somebody else's process.

namespace berth {
[[noreturn]] void check_failed(const char* claim, const char* should, const char* file, int line);
}  // namespace berth

#define BERTH_CHECK(claim, should)                                             \
  do {                                                                         \
    if (!(claim)) ::berth::check_failed(#claim, (should), __FILE__, __LINE__); \
  } while (false)
