#pragma once
// Devices as a line for a script (`berth pick --format`): a list, lines for a shell, or what
// `docker run` and CDI want to be told.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/variables.h"
#include "snapshot/snapshot.h"

namespace berth {

/// One of "indices", "uuids" ("0,2"), "env" (lines for a shell), "docker", "cdi" (words of `docker
/// run`). With its line's end. `root` stands before the paths of CDI files. unsupported: the format
/// has no name for these.
[[nodiscard]] Result<std::string> devices_in_format(std::string_view format,
                                                    const std::vector<DeviceId>& devices,
                                                    const Snapshot& snapshot,
                                                    const std::string& root);

/// What keeps a job from every device, as `berth run --cpu` would start it.
[[nodiscard]] std::string no_device_in_format(std::string_view format,
                                              const std::vector<Variable>& settings);

}  // namespace berth
