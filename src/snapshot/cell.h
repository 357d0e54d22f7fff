#pragma once
// Cell: one field of one device with its type erased, as the field table hands it around.

#include "base/archive.h"
#include "base/reading.h"

namespace berth {

/// One field of one device, its type erased: the number in the field's unit, or why there is none.
using Cell = Reading<Scalar>;

}  // namespace berth
