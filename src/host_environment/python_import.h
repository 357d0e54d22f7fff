#pragma once
// What a framework itself says when it is imported. The import is done by a child of the
// interpreter, which has a bounded time: it may hang or crash.

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "host_environment/host_facts.h"

namespace berth {

/// Imports what was found in a child of the interpreter and asks it what it sees: no more than
/// is_available, device_count and the architectures. Nothing is computed on a device.
[[nodiscard]] ImportAnswer ask_by_import(const PythonEnvironment& python,
                                         const std::vector<std::string>& environment, Clock& clock,
                                         Duration patience);
/// What that child printed: lines "framework<TAB>key<TAB>value".
[[nodiscard]] std::vector<FrameworkSaid> parse_import_answer(std::string_view text);

}  // namespace berth
