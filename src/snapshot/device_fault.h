#pragma once
// DeviceFault: that a device is not to be used, or has just gone wrong. health/health.h makes it;
// placement and runs take it as it is.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/sentence.h"

namespace berth {

/// `lost` it answers nobody any more. `failed` no job should be given it. `error` the driver
/// reported an error of the device (XID). `job_error` it reported one of the job's own making.
enum class FaultKind { lost, failed, error, job_error };

/// As an event of a run's record has it: "gpu_lost", "gpu_failed", "gpu_error", "job_error".
[[nodiscard]] constexpr std::string_view name_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::lost:
      return "gpu_lost";
    case FaultKind::failed:
      return "gpu_failed";
    case FaultKind::error:
      return "gpu_error";
    case FaultKind::job_error:
      return "job_error";
  }
  return "gpu_failed";
}

struct DeviceFault {
  DeviceId device;
  FaultKind kind = FaultKind::failed;
  std::string code;   // a word for programs: "row_remap_failed", "xid_79"
  Sentence evidence;  // what was found
  /// The process that the driver names with an error; nothing: it names none.
  std::optional<std::uint64_t> pid;
  friend bool operator==(const DeviceFault&, const DeviceFault&) = default;
};

}  // namespace berth
