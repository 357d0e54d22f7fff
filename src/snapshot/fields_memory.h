#pragma once
// What is derived of a device's memory: rows of the field table (snapshot/fields.cc).

#include "snapshot/device_kind.h"
#include "snapshot/fields.h"
#include "snapshot/questions.h"

namespace berth {

/// Absent where nothing is told that could be one.
inline Cell read_used_is_bound(const Device& device, const Snapshot&) {
  if (!device.memory_used.get()) return device.memory_used.why();
  return Scalar(is_used_a_bound(device));
}

inline Cell read_unexplained(const Device& device, const Snapshot& snapshot) {
  const Reading<Bytes> unexplained = unexplained_memory(device, snapshot);
  if (!unexplained.get()) return unexplained.why();
  return Scalar(unexplained.get()->count());
}

inline void want_unexplained(Wanted& wanted) {
  wanted.add(Extra::processes).add(Extra::instances).add<&Device::memory_used>();
}

}  // namespace berth
