// Quantities of different units cannot be compared.
#include "base/units.h"

using namespace berth;

#ifdef BAD
bool warm = Celsius{80} < Percent{90.0};
#else
bool warm = Celsius{80} < Celsius{90};
#endif
