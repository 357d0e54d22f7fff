#pragma once
// `--bind`: a job on the CPUs, and in the memory, of the NUMA node that its devices are attached
// to. The data that it loads then goes the short way to them.

#include <optional>
#include <vector>

#include "base/result.h"
#include "snapshot/snapshot.h"

namespace berth {

struct Binding {
  std::vector<int> cpus;    // of all its devices together, ascending
  std::optional<int> node;  // nothing: they are of several, or it is not known
  friend bool operator==(const Binding&, const Binding&) = default;
};

/// unsupported: for one of the devices it is not known which CPUs are close to it.
[[nodiscard]] Result<Binding> plan_binding(const std::vector<DeviceId>& devices,
                                           const Snapshot& snapshot);

/// Restricts this process and its children to the CPUs of the binding that it may already use.
/// Memory comes from the binding's node first, and from elsewhere if that is full. What cannot be
/// bound stays as it is: this never keeps a job from starting.
void bind_to(const Binding& binding);

}  // namespace berth
