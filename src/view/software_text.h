#pragma once
// The vendors' drivers and runtimes in the line that says what a machine is.

#include <string>
#include <vector>

#include "snapshot/snapshot.h"
#include "view/style.h"

namespace berth {

/// How the highest version that a driver supports is said: "CUDA 13.1", "CUDA up to 13.1", or with
/// its meaning.
enum class SupportedWords { number, limit, explained };

/// "driver 590.48.01", "CUDA up to 13.1"; where several vendors' were asked "NVIDIA driver …". What
/// is not known is left out.
[[nodiscard]] std::vector<std::string> software_texts(const Host& host, SupportedWords words,
                                                      const Style& style);

}  // namespace berth
