#pragma once
// What NVML's return codes mean to us: a reason for an absent reading, or a Problem. A Problem
// names what was attempted, what the driver said and what to do.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/reading.h"
#include "base/sentence.h"
#include "probe/nvml/abi.h"
#include "snapshot/snapshot.h"

namespace berth::nvml {

/// The vendor's own words for a code, "GPU is lost"; "error 77" where unknown.
[[nodiscard]] std::string vendor_words(Return code);
/// The same with its number, "GPU is lost (15)".
[[nodiscard]] std::string words(Return code);

/// Why a reading is absent that was answered with `code` (not success).
[[nodiscard]] Absent why_absent(Return code);
/// The same for what newer drivers alone know, such as a field's number. An older one answers that
/// the argument is invalid.
[[nodiscard]] Absent why_absent_newcomer(Return code);

/// The device or the library will never answer this differently: need not be asked again.
[[nodiscard]] bool is_refused_for_good(Return code);

/// The library itself has to be initialised again: the driver was reloaded under it.
[[nodiscard]] bool wants_initialising(Return code);

/// Says more behind its message.
void add(Problem& problem, const Sentence& more);

/// Why the whole source is silent. `attempted` as in "initialising NVML".
/// `module_version`: the kernel module's, by /proc/driver/nvidia/version, where readable.
[[nodiscard]] Problem source_problem(Return code, const Sentence& attempted,
                                     const std::optional<std::string>& module_version);

/// Why a device must not be used. Only some codes say so: lost, reset required, blocked by the
/// system, no power. Nothing for the others.
[[nodiscard]] std::optional<Problem> device_problem(Return code, const DeviceId& device,
                                                    std::string_view shown_as);

/// Some of what was asked of the device was not answered: by what each call said.
[[nodiscard]] Problem failures_problem(const std::vector<std::string>& failures,
                                       const DeviceId& device, std::string_view shown);

/// Its processes were not told, or not all of them.
[[nodiscard]] Problem processes_problem(Return code, bool is_any_listed, const DeviceId& device,
                                        std::string_view shown);

/// The version of the loaded kernel module; nothing: not loaded, or not readable.
[[nodiscard]] std::optional<std::string> kernel_module_version(const std::string& proc);

}  // namespace berth::nvml
