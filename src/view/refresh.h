#pragma once
// Text that a terminal overwrites: a picture or a line, and how far something is.
//
// `-w` redraws the same picture in place, without flicker. Only changed lines are written, all in
// one string for one write(2). The cursor is left under the last line. So an interrupted refresh
// leaves the screen readable.

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "view/style.h"

namespace berth {

/// The picture cut to `rows` lines; the last then says how many are hidden. 0 rows: not cut.
[[nodiscard]] std::string fit_to_height(std::string_view picture, int rows, const Style& style);

/// The text that makes a terminal showing `before` show `picture` (both as fit_to_height gave
/// them). Nothing before, or a terminal whose size changed: the screen is cleared first.
[[nodiscard]] std::string redraw(std::string_view picture,
                                 const std::optional<std::string>& before);

/// The line in place of the one that the cursor is in; empty: that one is taken away.
[[nodiscard]] std::string over_line(std::string_view line);

/// "[####................]"; a share beyond 0 and 1 is as those.
[[nodiscard]] std::string progress_bar(double share);

/// "[####................] what", without a share "what: 3 s", not wider than the terminal.
[[nodiscard]] std::string render_progress(std::optional<double> share, Duration taken,
                                          std::string_view what, const Style& style);

}  // namespace berth
