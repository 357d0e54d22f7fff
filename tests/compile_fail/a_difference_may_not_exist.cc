// refused: no match for 'operator-'
// total - used has wrapped below zero in many a tool: only minus() subtracts, and may say no.
#include <optional>

#include "base/units.h"

std::optional<berth::Bytes> left(berth::Bytes total, berth::Bytes used) {
#ifdef BERTH_WRONG
  return total - used;
#else
  return minus(total, used);
#endif
}
