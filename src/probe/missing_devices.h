#pragma once
// MissingDevices: notices that a card is missing that was there at an earlier look. A driver that
// has lost a card may list it no longer and number the others anew: one list alone does not show
// the loss.

#include <vector>

#include "snapshot/snapshot.h"

namespace berth {

class MissingDevices {
 public:
  /// Adds a lost row, without a number, and a Problem for each card that an earlier look had and
  /// this one has not, and remembers those that it has. Only where its own driver answered, or the
  /// bus has nothing in its place.
  ///
  /// Not missed: MIG instances (they come and go by their administrator's request), a card that the
  /// administrator excluded, and one that has another kernel driver now.
  void call(Snapshot& snapshot);

 private:
  std::vector<Device> present_;  // who and where alone, in the order in which they were first seen
};

}  // namespace berth
