#pragma once
// What `berth serve` and systemd have to do with each other: the unit that runs it, as text, and
// what it tells of itself (sd_notify(3)): one datagram, written here without their library.

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::serve {

enum class ServiceScope { system, user };

/// `program`: the whole path of berth. It begins with what says that we wrote it (is_our_unit).
[[nodiscard]] std::string service_unit(ServiceScope scope, const std::string& program);
/// Whether a unit's text is one that berth wrote: another's is not overwritten or removed.
[[nodiscard]] bool is_our_unit(const std::string& text);

inline constexpr const char* service_name = "berth-serve.service";

/// "READY=1", "STOPPING=1", "WATCHDOG=1", several with line breaks. `socket`: what NOTIFY_SOCKET
/// says, a path or "@" and an abstract name; nothing: nobody wants to know.
[[nodiscard]] Result<void> notify(const std::optional<std::string>& socket, std::string_view state);

}  // namespace berth::serve
