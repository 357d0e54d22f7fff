#pragma once
// What is embedded in the program or sent to it as gzip, unpacked.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth {

/// invalid: it is no gzip, is cut off, or is larger than `most_bytes` when unpacked.
[[nodiscard]] Result<std::string> gunzipped(std::string_view packed, std::size_t most_bytes);

}  // namespace berth
