// A reading cannot be used as its value: absence has to be decided in sight.
#include "base/reading.h"
#include "base/units.h"

using namespace berth;

Reading<Bytes> used = Absent::failed;
#ifdef BAD
Bytes bytes = used;
#else
Bytes bytes = used.get().value_or(Bytes{0});
#endif
