// A number of one unit cannot be added to another's.
#include "base/units.h"

using namespace berth;

#ifdef BAD
auto sum = Bytes{1} + Megahertz{1};
#else
auto sum = Bytes{1} + Bytes{1};
#endif
