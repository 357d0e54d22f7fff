// An answer that nobody looks at is a mistake.
#include "base/units.h"

using namespace berth;

void ask() {
#ifdef BAD
  minus(Bytes{1}, Bytes{2});
#else
  static_cast<void>(minus(Bytes{1}, Bytes{2}));
#endif
}
