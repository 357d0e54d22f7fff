#pragma once
// Looks of different depth: what those that ask for little are given of the last that asked for
// all.

#include "snapshot/snapshot.h"

namespace berth {

/// What a look that asked for no details is given of the last that did. What it read itself stays;
/// of a lost card nothing is known any more.
void add_details(const Snapshot& earlier, Snapshot& snapshot);

}  // namespace berth
