#pragma once
// Gatherers of what the kernel and the system's folders say. `root` stands before every absolute
// path, so that tests can give them folders made by hand.

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "host_environment/host_facts.h"

namespace berth {

[[nodiscard]] KernelSide gather_kernel_side(const std::string& root);
/// The version in /proc/driver/nvidia/version: "NVRM version: NVIDIA UNIX x86_64 Kernel Module
/// 535.104.05  …" or "… Open Kernel Module for x86_64  580.65.06  …".
[[nodiscard]] std::optional<std::string> parse_nvrm_version(std::string_view text);

/// /dev/nvidia* and what opening them comes to. Only the control device is opened unless `all`:
/// opening a card wakes it up. Of the KFD, render nodes and Ascend's files the permissions alone
/// are looked at. In a process of its own.
enum class OpenWhich { control, all };
[[nodiscard]] std::vector<DeviceFile> gather_device_files(const std::string& root, OpenWhich which,
                                                          Clock& clock);

[[nodiscard]] Limits gather_limits(const std::string& root);
/// Threads for one CPU job here: all of a small machine, a quarter of a large one. Never more than
/// affinity and the control group's quota allow.
[[nodiscard]] unsigned threads_of_a_job(const std::string& root);

[[nodiscard]] WorkingDirectory gather_directory(const std::string& path, const std::string& root,
                                                Clock& clock);
/// Reads the largest regular file among the folder's first 256 entries, in a process of its own. At
/// most 64 MiB and 0.5 s, or 2 s until it has 4 MiB. Changes nothing but what is in memory.
[[nodiscard]] Reading<ReadSpeed> gather_read_speed(const std::string& folder,
                                                   std::string_view file_system, Clock& clock);
/// The type of the file system that `path` is on, from /proc/self/mountinfo; empty: not told.
[[nodiscard]] std::string file_system_of(std::string_view mountinfo, std::string_view path);

[[nodiscard]] Libraries gather_libraries(const std::string& root,
                                         const std::vector<std::string>& library_path,
                                         const std::string& search_path,
                                         const std::string& preload);
/// What this folder, which the variable names, has of a toolkit.
[[nodiscard]] CudaHome gather_cuda_home(const std::string& variable, const std::string& folder);

/// `home`, the caller's, is left out where it is empty.
[[nodiscard]] ContainerTools gather_container_tools(const std::string& root,
                                                    const std::string& search_path,
                                                    const std::string& home);

/// Asks each engine's program that is in PATH for its version, and which of its images set
/// CUDA_VISIBLE_DEVICES. One that does not answer soon tells nothing.
void ask_engines(const std::vector<std::string>& environment, ContainerTools& tools, Clock& clock);

/// Those of `folders` that have not answered a look into them within `patience` each.
[[nodiscard]] std::vector<std::string> silent_folders(const std::vector<std::string>& folders,
                                                      Clock& clock, Duration patience);

}  // namespace berth
