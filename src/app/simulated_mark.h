#pragma once
// The mark of a simulated server, where stdout has no place for it.

#include <optional>
#include <string>

namespace berth {

/// "SIMULATED: name" on stderr; nothing: the machine is real.
void say_simulated(const std::optional<std::string>& server);

}  // namespace berth
