#pragma once
// Which build of a framework would see this machine's GPUs, and the command that installs it. The
// build replaces the present one. The command uses the user's own package mirror if there is one.

#include <optional>
#include <vector>

#include "diagnose/doctor/cuda_tables.h"
#include "diagnose/doctor/examined.h"

namespace berth::doctor {

/// The newest official build that driver, cards and Python all allow. It is of the installed
/// release if there is such a build. Nothing: none is allowed, or something it depends on is not
/// known.
[[nodiscard]] std::optional<TorchBuild> fitting_torch(const Examined& host,
                                                      const FrameworkBuild& installed);

/// What is wrong with the installed build. It has no CUDA, or one that does not go with this driver
/// or card.
enum class Wanted { cuda, other_cuda };
/// The surest first. Empty: nothing fits, or which build would is not known here.
[[nodiscard]] std::vector<Finding::Step> steps_to_replace(const Examined& host,
                                                          const FrameworkBuild& installed,
                                                          Wanted wanted);

}  // namespace berth::doctor
