#pragma once
// What a server answered to GET /api/v1/alerts, from text to values.

#include <string_view>

#include "base/result.h"
#include "view/alert_text.h"

namespace berth::serve {

/// invalid: it is no such answer. An alert of a rule that this berth does not know is left out.
[[nodiscard]] Result<AlertList> alert_list_from_json(std::string_view text);

}  // namespace berth::serve
