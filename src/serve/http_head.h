#pragma once
// The head of an answer as text. Pure.

#include <string>
#include <string_view>

#include "base/ids.h"
#include "serve/message.h"

namespace berth::serve {

enum class Afterwards { stays_open, closes };

/// Status line and headers, with the empty line behind them.
[[nodiscard]] std::string head_of(const HttpResponse& response, Afterwards afterwards,
                                  WallTime now);
/// "Sat, 21 Nov 2026 12:00:00 GMT"
[[nodiscard]] std::string http_date(WallTime time);

}  // namespace berth::serve
