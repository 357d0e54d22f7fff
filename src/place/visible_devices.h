#pragma once
// CUDA_VISIBLE_DEVICES exactly: read what others wrote by CUDA's own rules, write what programs
// understand. Each rule is a test in visible_devices_test.cc.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "snapshot/snapshot.h"

namespace berth {

/// What a visible-devices variable says on this machine.
struct VisibleDevices {
  std::vector<DeviceId> devices;  // in the order the program sees them
  /// What ended or emptied the list or was not read, for people: "entry 3 (\"x\") is invalid: CUDA
  /// stops there".
  std::vector<Sentence> remarks;
  /// Where there are remarks: the list as probably meant, of existing devices that nobody else is
  /// on. Else the first such device. Empty: there is none, or it cannot be told.
  std::string corrected;
  /// Which variable hides each device that is not shown: devices_left_by() says it.
  std::map<DeviceId, std::string_view> hidden_by = {};
  friend bool operator==(const VisibleDevices&, const VisibleDevices&) = default;
};

/// How indices in the list are meant.
enum class DeviceOrder { pci_bus_id, fastest_first };

/// Reads a list by CUDA's rules: unset = all, empty = none. The first invalid entry ends the list.
/// UUID prefixes count if unique, duplicates = none, at most one MIG device, atoi-style digits.
/// Source: CUDA C++ Programming Guide, "CUDA Environment Variables", and what was seen of the
/// driver.
///
/// invalid: the answer would be a guess: fastest-first order on a machine with different cards.
/// The message says what to set. `user`: whose jobs do not take a device from the corrected list.
[[nodiscard]] Result<VisibleDevices> parse_visible_devices(
    const std::optional<std::string>& variable, DeviceOrder order, const Snapshot& snapshot,
    std::string_view user = {});

/// Whether the list is meant to show no device: empty, -1, or a word that batch systems and
/// people write for none. A list that shows none by a mistake is not of these.
[[nodiscard]] bool hides_devices_on_purpose(std::string_view variable);

enum class VisibleFormat { indices, uuids };

/// The list that makes a program see exactly these devices, in this order. MIG instances are always
/// UUIDs. unsupported: indices asked for and a device has none.
[[nodiscard]] Result<std::string> write_visible_devices(const std::vector<DeviceId>& devices,
                                                        VisibleFormat format,
                                                        const Snapshot& snapshot);

/// Variables that a job given these devices must not have: they would number anew what the others
/// leave (HIP_VISIBLE_DEVICES behind ROCR_VISIBLE_DEVICES).
[[nodiscard]] std::vector<std::string> removed_variables(const std::vector<DeviceId>& devices,
                                                         const Snapshot& snapshot);

/// What a program that runs already is to have in their place, as nothing takes them from it. Empty
/// is as not set; but PyTorch takes an empty HIP_VISIBLE_DEVICES for no device (torch.cuda,
/// _parse_visible_devices), so that names all that ROCR_VISIBLE_DEVICES leaves.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> variables_instead(
    const std::vector<DeviceId>& devices, const Snapshot& snapshot);

/// The variables (name, value) that give a job these devices, CUDA_DEVICE_ORDER included, grouped
/// by the devices' kinds.
[[nodiscard]] Result<std::vector<std::pair<std::string, std::string>>> visible_variables(
    const std::vector<DeviceId>& devices, VisibleFormat format, const Snapshot& snapshot);

}  // namespace berth
