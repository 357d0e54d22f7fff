// Whether there is a value is asked by name: "if (reading)" would confuse a false one with none.
#include "base/reading.h"

using namespace berth;

Reading<bool> mig = Absent::unsupported;
#ifdef BAD
bool divided = mig ? true : false;
#else
bool divided = mig.has_value();
#endif
