#pragma once
// What an environment's visible-devices variables come to on this machine, entry by entry, for
// doctor's rules and its text. How each is read is said in place/visible_devices.h.

#include <optional>
#include <string>
#include <string_view>

#include "diagnose/doctor/examined.h"
#include "place/visible_others.h"

namespace berth::doctor {

/// CUDA's own; nothing: it is not set. `user`: whose jobs do not take a device from the corrected
/// list.
[[nodiscard]] std::optional<VisibleList> visible_list(const VisibleSettings& settings,
                                                      const Snapshot& snapshot,
                                                      std::string_view user);

/// What NVIDIA_VISIBLE_DEVICES asks NVIDIA's container toolkit for. Nothing: it is not set, "all",
/// or this is no container.
[[nodiscard]] std::optional<VisibleList> given_list(const std::optional<std::string>& value,
                                                    const Examined& host);

}  // namespace berth::doctor
