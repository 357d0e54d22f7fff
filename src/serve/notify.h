#pragma once
// What a service tells systemd (sd_notify(3)): one datagram, written here without its library.

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::serve {

/// "READY=1", "STOPPING=1", "WATCHDOG=1", several with line breaks. `socket`: what NOTIFY_SOCKET
/// says, a path or "@" and an abstract name; nothing: nobody wants to know.
[[nodiscard]] Result<void> notify(const std::optional<std::string>& socket, std::string_view state);

}  // namespace berth::serve
