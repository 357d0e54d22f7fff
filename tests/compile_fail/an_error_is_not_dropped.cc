// refused: cannot convert
// What may have failed cannot be taken for what it holds.
#include "base/result.h"

berth::Result<int> answer();

int used() {
#ifdef BERTH_WRONG
  return answer();
#else
  return answer().value_or(1);
#endif
}
