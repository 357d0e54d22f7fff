#pragma once
// The systemd unit that runs `berth serve`, as text. Pure.

#include <string>

namespace berth {

enum class ServiceScope { system, user };

/// `program`: the whole path of berth. Ends with what says that we wrote it (is_our_unit).
[[nodiscard]] std::string service_unit(ServiceScope scope, const std::string& program);
/// Whether a unit's text is one that berth wrote: another's is not overwritten or removed.
[[nodiscard]] bool is_our_unit(const std::string& text);

inline constexpr const char* service_name = "berth-serve.service";

}  // namespace berth
