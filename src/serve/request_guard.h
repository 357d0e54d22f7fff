#pragma once
// What a request must satisfy before anybody looks at what it asks for: that it means this server,
// and that no other site's page sends it. Pure.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/message.h"

namespace berth::serve {

/// "[::1]:9700" → "::1"; "GPU1.lab:80" → "gpu1.lab".
[[nodiscard]] std::string host_without_port(std::string_view host);

/// The answer to a request that may not pass; nothing: it may. `hosts`: names that this server is
/// known by besides localhost, 127.0.0.1 and ::1, as host_without_port() writes them.
[[nodiscard]] std::optional<HttpResponse> refusal(const HttpRequest& request,
                                                  const std::vector<std::string>& hosts);

}  // namespace berth::serve
