// What could wrap below zero is minus(), which says so in its signature.
#include "base/units.h"

using namespace berth;

#ifdef BAD
Bytes left = Bytes{1} - Bytes{2};
#else
std::optional<Bytes> left = minus(Bytes{1}, Bytes{2});
#endif
