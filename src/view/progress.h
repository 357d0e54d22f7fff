#pragma once
// How far something is that takes its time: one line, which a terminal overwrites with the next.

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "view/style.h"

namespace berth {

/// "[####................]"; a share beyond 0 and 1 is as those.
[[nodiscard]] std::string progress_bar(double share);

/// "[####................] what", without a share "what: 3 s", not wider than the terminal.
[[nodiscard]] std::string render_progress(std::optional<double> share, Duration taken,
                                          std::string_view what, const Style& style);

/// Behind a line that stands in place of another.
[[nodiscard]] std::string_view clear_to_end_of_line();

}  // namespace berth
