// A bare number does not become a quantity by itself.
#include "base/units.h"

using namespace berth;

#ifdef BAD
Bytes size = 4096;
#else
Bytes size{4096};
#endif
