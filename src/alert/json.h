#pragma once
// An alert as JSON, for whoever writes one: the file that keeps it, the API, `berth alert`.

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "alert/alert.h"

namespace berth {

/// `kept`: on disk, with its subject and whom it is about. `shown`: without these.
enum class AlertFields { kept, shown };
/// `summary`: the alert's own, or that with names in it.
[[nodiscard]] nlohmann::ordered_json json_of(const Alert& alert, AlertFields fields,
                                             std::string_view summary);

}  // namespace berth
