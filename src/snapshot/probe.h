#pragma once
// Probe: one source of truth about the machine. A probe adds what it knows to a snapshot that
// others fill too, cannot spoil what they know, and reports its own failure as a Problem.

#include <string_view>

#include "snapshot/snapshot.h"

namespace berth {

class Probe {
 public:
  virtual ~Probe() = default;
  /// "nvml", "pci", "procfs", "sim", "replay".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Adds to `snapshot`. May block for as long as the driver or the kernel does: whoever cannot
  /// afford that runs it in a probe process (probe/process).
  virtual void observe(Snapshot& snapshot) = 0;
};

}  // namespace berth
