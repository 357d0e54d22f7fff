#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace berth {
void check_failed(const char* claim, const char* should, const char* file, int line) {
  std::fprintf(stderr, "berth: bug at %s:%d: (%s) does not hold: %s\n", file, line, claim, should);
  std::abort();
}
}  // namespace berth
