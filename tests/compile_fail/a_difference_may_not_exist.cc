// refused: no match for 'operator-'
// In many a tool total - used has wrapped below zero. Only minus() subtracts, and it may say no.
#include <optional>

#include "base/units.h"

std::optional<berth::Bytes> left(berth::Bytes total, berth::Bytes used) {
#ifdef BERTH_WRONG
  return total - used;
#else
  return minus(total, used);
#endif
}
