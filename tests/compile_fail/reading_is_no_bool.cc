// refused: could not convert
// Code asks by name whether there is a value. "if (reading)" would confuse a false one with none.
#include "base/reading.h"

using namespace berth;

Reading<bool> mig = Absent::unsupported;
#ifdef BERTH_WRONG
bool divided = mig ? true : false;
#else
bool divided = mig.has_value();
#endif
