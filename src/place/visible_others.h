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
#include "snapshot/device_kind.h"
#include "snapshot/snapshot.h"

namespace berth {

/// The variables of an environment that say what a program sees, by name: told_variables alone.
using VisibleSettings = std::map<std::string, std::string, std::less<>>;
/// `value_of` a variable is nothing where it is not set.
[[nodiscard]] VisibleSettings visible_settings_in(
    const std::function<std::optional<std::string>(const char*)>& value_of);
/// How they say that CUDA counts.
[[nodiscard]] DeviceOrder cuda_order_in(const VisibleSettings& settings);
/// Whether they say anything.
[[nodiscard]] bool limits_devices(const VisibleSettings& settings);

/// The list of a kind's own variable, of all kinds but NVIDIA's, as its ListSyntax says.
/// numbers: the first entry that is none ends the list, empty is none.
/// rocr (ROCR-Runtime, amd_filter_device.cpp): numbers in the KFD's order or "GPU-<hex>", any case,
/// a beginning will do where it is the only one's. What is unknown, ambiguous or there already ends
/// the list. Empty and -1: none.
/// level_zero (compute-runtime, execution_environment.cpp): unknown numbers are passed over, order
/// and repetition change nothing, "2.1" means a part of 2. Empty: all.
/// ascending: numbers without blanks; the first bad entry ends the list, and one that does not
/// ascend shows none.
[[nodiscard]] VisibleDevices read_visible_list(const DeviceKindFacts& facts, std::string_view list,
                                               const Snapshot& snapshot);

/// HIP_VISIBLE_DEVICES (clr, rocdevice.cpp), which numbers what ROCr has left: digits alone,
/// without blanks and leading zeros, or a UUID in small letters. The first other entry ends the
/// list. Empty: as if it were not set.
[[nodiscard]] VisibleDevices parse_hip_visible_devices(std::string_view list,
                                                       const std::vector<DeviceId>& left,
                                                       const Snapshot& snapshot);

/// A variable that is set and whose devices are here, with what its runtime makes of it.
struct VisibleVariable {
  std::string_view name;
  std::string value;
  const DeviceKindFacts* of;  // those of its runtime; where that is not known, of its kind
  bool is_as_unset;           // its runtime reads an empty list so
  VisibleDevices read;        // of the second variable of a runtime: what both leave
};
/// All but CUDA's own. CUDA_VISIBLE_DEVICES is HIP's as well, and theirs whose own it is (Iluvatar,
/// MetaX), where no device of NVIDIA's is there.
[[nodiscard]] std::vector<VisibleVariable> other_variables(const VisibleSettings& settings,
                                                           const Snapshot& snapshot);

/// Whether numbers that a batch system gave are CUDA's: NVIDIA's devices are here.
[[nodiscard]] bool has_cudas(const Snapshot& snapshot);
/// Of these devices those that a batch system gave by such numbers. Of other makers' than the
/// numbers count: those that their maker's own variable leaves. Where numbers name devices that
/// are not here, the others are hidden, and numbers begin anew: a variable alone can say.
[[nodiscard]] std::vector<DeviceId> held_to_numbers(std::vector<DeviceId> devices,
                                                    std::string_view numbers,
                                                    const VisibleSettings& settings,
                                                    const Snapshot& snapshot);

/// What they leave of all devices: of a maker whose variable is not set, all. Nothing: none is set
/// that a program for one of these devices reads. invalid: as parse_visible_devices(). Remarks
/// begin with the variable's name. Each hidden device has the name of the variable that hides it.
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
