#pragma once
// The visible-devices variables of makers other than NVIDIA, as their runtimes read them. And what
// an environment's variables together leave of a machine's devices. Each rule is a test in
// visible_others_test.cc.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "place/visible_devices.h"
#include "snapshot/snapshot.h"

namespace berth {

/// ROCR_VISIBLE_DEVICES (ROCR-Runtime, amd_filter_device.cpp): numbers in the KFD's order or
/// "GPU-<hex>" (any case, a beginning will do where it is the only one's). What is unknown,
/// ambiguous or there already ends the list. Empty and -1: none.
[[nodiscard]] VisibleDevices parse_rocr_visible_devices(std::string_view list,
                                                        const Snapshot& snapshot);

/// HIP_VISIBLE_DEVICES (clr, rocdevice.cpp), which numbers what ROCr has left: digits alone,
/// without blanks and leading zeros, or a UUID in small letters. The first other entry ends the
/// list. Empty: as if it were not set.
[[nodiscard]] VisibleDevices parse_hip_visible_devices(std::string_view list,
                                                       const std::vector<DeviceId>& left,
                                                       const Snapshot& snapshot);

/// ZE_AFFINITY_MASK (compute-runtime, execution_environment.cpp): numbers; those that are unknown
/// are passed over, order and repetition change nothing, "2.1" means a part of 2. Empty: all.
[[nodiscard]] VisibleDevices parse_affinity_mask(std::string_view list, const Snapshot& snapshot);

/// ASCEND_RT_VISIBLE_DEVICES: numbers without blanks; the first bad entry ends the list, and one
/// that does not ascend shows none.
[[nodiscard]] VisibleDevices parse_ascend_visible_devices(std::string_view list,
                                                          const Snapshot& snapshot);

/// A list of a maker whose runtime berth does not know: numbers. The first other entry ends it, and
/// empty is none: what a program would be shown is never less.
[[nodiscard]] VisibleDevices parse_plain_numbers(std::string_view list, DeviceKind kind,
                                                 const Snapshot& snapshot);

/// The variables of an environment that limit devices.
struct VisibleSettings {
  std::optional<std::string> cuda, cuda_order, rocr, hip, affinity_mask, ascend;
  std::map<DeviceKind, std::string> plain = {};  // is_plainly_numbered(), but CUDA's variable
  friend bool operator==(const VisibleSettings&, const VisibleSettings&) = default;
};
/// Whether they say anything.
[[nodiscard]] bool limits_devices(const VisibleSettings& settings);
/// Those of an environment; `value_of` a variable is nothing where it is not set.
[[nodiscard]] VisibleSettings visible_settings_in(
    const std::function<std::optional<std::string>(const char*)>& value_of);

/// What they leave of all devices: of a maker whose variable is not set, all. Nothing: none of them
/// is set. CUDA_VISIBLE_DEVICES is HIP's as well, and theirs whose own it is (Iluvatar, MetaX),
/// where no device of NVIDIA's is there. invalid: as
/// parse_visible_devices(). Remarks begin with the variable's name.
[[nodiscard]] Result<std::optional<VisibleDevices>> devices_left_by(const VisibleSettings& settings,
                                                                    const Snapshot& snapshot,
                                                                    std::string_view user = {});

/// What a program with these variables calls each device: its number among those of its runtime
/// that it is shown. Hidden ones are missing.
struct ProgramNumbers {
  std::map<DeviceId, std::optional<int>> numbers;  // nothing: only its runtime knows
  std::vector<Sentence> remarks;
};
[[nodiscard]] ProgramNumbers numbers_in_program(const VisibleSettings& settings,
                                                const Snapshot& snapshot);

}  // namespace berth
