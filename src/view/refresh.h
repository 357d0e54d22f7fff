#pragma once
// `-w`: redraws the same picture in place, without flicker. Only changed lines are written, all in
// one string for one write(2). The cursor is left under the last line. So an interrupted refresh
// leaves the screen readable.

#include <optional>
#include <string>
#include <string_view>

#include "view/style.h"

namespace berth {

/// The picture cut to `rows` lines; the last then says how many are hidden. 0 rows: not cut.
[[nodiscard]] std::string fit_to_height(std::string_view picture, int rows, const Style& style);

/// The text that makes a terminal showing `before` show `picture` (both as fit_to_height gave
/// them). Nothing before, or a terminal whose size changed: the screen is cleared first.
[[nodiscard]] std::string redraw(std::string_view picture,
                                 const std::optional<std::string>& before);

}  // namespace berth
