#pragma once
// One look at everything that an NvmlProbe can tell, in this process and in one go. The program
// goes step by step instead (probe/probe_process/ask.cc). For tests alone.

#include <iterator>

#include "probe/nvml/nvml_probe.h"
#include "snapshot/snapshot.h"

namespace berth {

inline Snapshot whole_look(NvmlProbe& probe, WallTime taken,
                           const Wanted& wanted = Depth::everything) {
  Snapshot snapshot{.taken = taken};
  const auto count = probe.open();
  snapshot.sources.push_back({"nvml", count.has_value()});
  if (!count) {
    Host& host = snapshot.host;
    VendorSoftware& software = host.software_of(Runtime::cuda);
    software.driver = software.library = software.runtime = Absent::failed;
    snapshot.problems.push_back(count.error());
    return snapshot;
  }
  probe.observe_host(snapshot.host, wanted, snapshot.problems);
  const auto append = [](auto&& from, auto& to) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  for (int i = 0; i < *count && wanted.has(Extra::devices); ++i) {
    DeviceLook look = probe.observe_device(i, wanted, taken);
    append(look.devices, snapshot.devices);
    append(look.processes, snapshot.gpu_processes);
    append(look.problems, snapshot.problems);
  }
  return snapshot;
}

}  // namespace berth
