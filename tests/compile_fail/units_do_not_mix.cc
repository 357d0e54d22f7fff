// refused: no match for 'operator+'
// Bytes and Megahertz are both numbers, and adding them is a mistake.
#include "base/units.h"

using namespace berth::literals;

auto sum() {
#ifdef BERTH_WRONG
  return 1_GiB + 5_MHz;
#else
  return 1_GiB + 5_MiB;
#endif
}
