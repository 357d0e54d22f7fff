#pragma once
// What a counter grew by between two looks.

#include <type_traits>

#include "base/reading.h"
#include "base/units.h"

namespace berth::bottleneck {

/// Absent  failed: it is less than before, so it began again (a driver reloaded, a pid reused).
template <class T>
[[nodiscard]] Reading<T> growth(const Reading<T>& before, const Reading<T>& now) {
  if (!now.get()) return now.why();
  if (!before.get()) return before.why();
  if constexpr (std::is_arithmetic_v<T>) {
    if (*now.get() < *before.get()) return Absent::failed;
    return static_cast<T>(*now.get() - *before.get());
  } else {
    const auto grown = minus(*now.get(), *before.get());
    return grown ? Reading<T>(*grown) : Reading<T>(Absent::failed);
  }
}

}  // namespace berth::bottleneck
