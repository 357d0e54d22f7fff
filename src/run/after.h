#pragma once
// `--after`: a run that waits until others of its user have ended well, before it asks for devices.
// A circle cannot be asked for: only runs that are there already can be named.

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace berth {

/// One of those that are waited for, and how it stands.
enum class AfterState { unfinished, ended_well };
/// invalid: it ended badly, or nobody will ever know how; says which and how.
[[nodiscard]] Result<AfterState> state_of_run_before(const std::string& state_directory,
                                                     const std::string& run);

/// Waits until all of them have ended well. `waits`: told once, with a sentence, where one has not.
/// not_found, invalid: one cannot be waited for. timeout: `interrupted`, asked often, said so.
[[nodiscard]] Result<void> await_runs(const std::vector<std::string>& runs,
                                      const std::string& state_directory, Clock& clock,
                                      const std::function<bool()>& interrupted,
                                      const std::function<void(const Sentence&)>& waits);

}  // namespace berth
