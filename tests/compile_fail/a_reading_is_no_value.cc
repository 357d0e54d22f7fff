// refused: no match for 'operator<'
// A reading may be absent. So it cannot be compared like a number before that is decided.
#include "base/reading.h"
#include "base/units.h"

using namespace berth::literals;

bool is_cool(const berth::Reading<berth::Celsius>& temperature) {
#ifdef BERTH_WRONG
  return temperature < 60_celsius;
#else
  return temperature.get() && *temperature.get() < 60_celsius;
#endif
}
