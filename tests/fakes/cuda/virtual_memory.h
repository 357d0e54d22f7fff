#pragma once

// What memory.cc and virtual_memory.cc share.

#include "fake_driver.h"

namespace fake {

/// Pages of the host, none of them resident; null: it has none.
void* reserve(void* at, std::size_t bytes, int access, int more = 0);
/// As around(), of what cuMemMap mapped.
Allocation mapped_around(Address address);

}  // namespace fake
