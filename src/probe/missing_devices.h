#pragma once
// MissingDevices: notices that a card is missing that was there at an earlier look. A driver may
// stop listing a lost card and number the others anew. So one list alone does not show the loss.

#include <vector>

#include "snapshot/snapshot.h"

namespace berth {

class MissingDevices {
 public:
  /// Adds a lost row, without a number, and a Problem for each card that only an earlier look had.
  /// Does so only where the card's driver answered, or the bus has nothing in its place. Remembers
  /// the cards of this look.
  ///
  /// Not missed: MIG instances (their administrator makes and removes them), a card that the
  /// administrator excluded, one with another kernel driver now.
  void add_to(Snapshot& snapshot);

 private:
  std::vector<Device> present_;  // who and where alone, in the order in which they were first seen
};

}  // namespace berth
