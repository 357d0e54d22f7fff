#pragma once
// NVIDIA's Multi-Process Service (MPS), as a program started here meets it. Its server refuses a
// client what goes beyond CUDA_MPS_PINNED_DEVICE_MEM_LIMIT. Without a server that variable does
// nothing at all, so it is never assumed: a client of our own is refused first.
//
// Source: NVIDIA's "Multi-Process Service", 4.2.7 (device memory limits) and 4.2.1 (pipes).

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/reading.h"
#include "base/result.h"
#include "base/units.h"

namespace berth {

inline constexpr const char* mps_limit_variable = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT";

/// The folder of the server's pipes. not_found: none runs for programs with this environment.
/// no_permission: it is neither root's nor of `us`, and its owner could see what a job computes.
[[nodiscard]] Result<std::string> find_mps(const std::vector<std::string>& environment, uid_t us);

/// "0=10240M,1=10240M": of the devices in the order in which the job sees them.
[[nodiscard]] std::string mps_limits(const std::vector<Bytes>& shares);

struct MpsQuestion {
  std::string library = "libcuda.so.1";
  std::string pipes;               // find_mps()
  std::vector<std::string> uuids;  // as the driver writes them, in the order of the job
  /// Free memory of each, by NVML. CUDA tells a client what is left of its limit (driver 580).
  std::vector<Reading<Bytes>> free;
  Duration patience = std::chrono::seconds(10);
};

/// A client in a process of its own asks each device for more than its limit. unsupported: it was
/// given that, or it could not be tried; says on which device and why.
[[nodiscard]] Result<void> prove_mps_limit(const MpsQuestion& question, Clock& clock);

}  // namespace berth
