#pragma once
// DeviceFault: that a device is not to be used, or has just gone wrong. Who knows about health
// makes it (health/health.h); placement and a run take it as it is.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace berth {

/// Why a device is lost that the driver counted earlier and counts no longer (or that a run was
/// given); stands in Device::unusable_because, shown through tr().
inline constexpr std::string_view not_listed_any_more = "the driver lists it no longer";
/// Likewise, of cards that somebody took away on purpose: nothing is wrong with them.
inline constexpr std::string_view left_out_on_purpose =
    "left out by its administrator (the driver's exclusion list)";
inline constexpr std::string_view not_shown_here =
    "the nvidia driver has it, but this process is kept from it (a container, a control group or "
    "`berth run --isolate`)";
inline constexpr std::string_view given_to_a_machine = "given to a virtual machine (vfio-pci)";
/// Likewise, of cards that NVIDIA's driver does not have, or does not answer for.
inline constexpr std::string_view no_driver_has_it = "no kernel driver is bound to it";
inline constexpr std::string_view nouveau_has_it =
    "the nouveau driver has it; CUDA needs NVIDIA's own driver";
inline constexpr std::string_view library_is_silent = "NVIDIA's library does not answer";
/// Likewise, of a card that the driver answers only so much of until somebody resets it.
inline constexpr std::string_view must_be_reset = "it must be reset first";

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
  std::string code;      // a word for programs: "row_remap_failed", "xid_79"
  std::string evidence;  // what was found, in English
  /// The process that the driver names with an error; nothing: it names none.
  std::optional<std::uint64_t> pid;
  friend bool operator==(const DeviceFault&, const DeviceFault&) = default;
};

}  // namespace berth
